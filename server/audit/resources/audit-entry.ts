// An entry of the audit log. Written by the log itself (server/audit), and by nobody else.

import { resource } from "#kernel";

export const auditEntry = resource({ service: "gantry.audit.v1.AuditService", message: "gantry.audit.v1.AuditEntry", table: "audit_entries" });
