// Entry point of the audit log.

export type { Link } from "./chain.ts";
export { type Audit, openAudit } from "./loop.ts";
export { readSealSummary } from "./heads.ts";
export { auditRetention } from "./months.ts";
export { recordLine, recordsOf } from "./record.ts";
export type { RefusedCall } from "./refusals.ts";
export { nextBase, type Restore, verifyRestores, writeRestore } from "./restores.ts";
export { type RecordsVerdict, type RecordsVerdicts, verifyRecords } from "./verify-file.ts";
export { isRecent, openPart, openToken, sealPart, sealToken, type VerifiedEntry, type VerifiedPart } from "./verified-part.ts";
export { type Problem, type Verdict, verifyAllChains, verifyChain } from "./verify.ts";
