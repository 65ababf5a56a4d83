// An entry of the audit log, written only by server/audit.

import { resource } from "#kernel";

export const auditEntry = resource({ service: "gantry.audit.v1.AuditService", message: "gantry.audit.v1.AuditEntry", table: "audit_entries" });
