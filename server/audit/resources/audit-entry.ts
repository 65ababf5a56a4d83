// An entry of the audit log, written only by server/audit.

import { history, resource, untilConditions } from "#kernel";
import { verifyAuditEntries } from "./verify-audit-entries.ts";

const message = "gantry.audit.v1.AuditEntry";

export const auditEntry = resource({
  service: "gantry.audit.v1.AuditService",
  message,
  table: "audit_entries",
  conditions: untilConditions,
  methods: { GetAuditEntryHistory: { reads: history(message, "entryCount") }, VerifyAuditEntries: { reads: verifyAuditEntries } },
});
