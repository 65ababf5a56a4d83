// Texts of the audit log.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  auditTitle: "Entries",
  entryCount: (number: number): string => counted(number, "entry", "entries"),
  noEntriesTitle: "No entries",
  noEntriesText: "No entry of this group and below matches.",
  who: "Who",
  what: "What",
  onWhat: "On",
  result: "Result",
  refusedOnly: "Refused only",
  uidOfResource: "Uid of a resource",
  uidHint: "Only entries about exactly this resource.",
  uidInvalid: "A uid has 40 hexadecimal digits, and 16 for each level below.",
  noIdentity: "No identity",
  entryOf: (number: string): string => `Entry ${number}`,
  requests: (number: number): string => counted(number, "request", "requests"),
  fields: {
    operation: "Operation",
    type: "Event type",
    subject: "On",
    callerUid: "Identity",
    act: "Token",
    bindingUids: "Permitted by",
    resourceUids: "Resources",
    remoteAddress: "Address",
    userAgent: "Program",
    requestId: "Request ID",
    eventId: "Event ID",
    createTime: "Done",
    sealTime: "Sealed",
    hash: "Hash",
  },
  verifyText: "To verify the chain of hashes, an operator runs this on the server's machine:",
} as const;
