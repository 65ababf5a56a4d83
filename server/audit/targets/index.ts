// Entry point: sends the audit log to the operator's targets.

export { type AuditTargets, openAuditTargets } from "./loop.ts";
export { type AuditTarget, readTargets, readTargetsFile } from "./targets-file.ts";
