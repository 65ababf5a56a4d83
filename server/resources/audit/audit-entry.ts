// An entry of the audit log. Written by the log itself (server/audit), and by nobody else.

import { AuditEntrySchema, AuditService } from "#contract/gen/gantry/audit/v1/audit_pb.js";
import { resource } from "#kernel";

export const auditEntry = resource({ service: AuditService, message: AuditEntrySchema, table: "audit_entries" });
