// The public entry: the audit log, sent to where the operator wants it.

export { type AuditTargets, openAuditTargets } from "./loop.ts";
export { type AuditTarget, readTargets, readTargetsFile } from "./targets-file.ts";
