// Texts of soft-deleted resources.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  deletedText: "What was deleted comes back with the same uids, until it is removed for good.",
  deletionCount: (number: number): string => counted(number, "deletion", "deletions"),
  noDeletionsTitle: "Nothing to bring back",
  noDeletionsText: "Nothing was deleted here and below, or it was removed for good.",
  alongWith: "Along with it",
  rows: (number: number): string => counted(number, "row", "rows"),
  keptUntil: "Kept until",
  bringBack: "Bring back",
  bringBackOf: (name: string): string => `Bring ${name} back`,
  bringBackText: "It comes back with everything that was deleted along with it. Role bindings grant access again.",
  broughtBack: "Brought back",
} as const;
