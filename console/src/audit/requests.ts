// The requests for single entries and for the verification of the log.

import type { AuditEntry, AuditVerification } from "../../../client/package.ts";
import type { Question } from "../api.ts";

export const entryOf = (uid: string): Question<AuditEntry> => ({
  name: "audit.entries.get",
  request: { uid },
  send: (gantry, signal) => gantry.audit.entries.get({ uid }, { signal }),
});

/** One step. `continueToken` is that of the step before; empty for the first one. */
export const verificationOf = (uid: string, continueToken: string): Question<AuditVerification> => {
  const request = { uid, ...(continueToken === "" ? {} : { continueToken }) };
  return { name: "audit.entries.verify", request, send: (gantry, signal) => gantry.audit.entries.verify(request, { signal }) };
};
