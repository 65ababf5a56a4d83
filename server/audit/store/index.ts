// Public entry of the module: the tables of audit, and the statements on them.

export {
  type AuditEntry,
  dropAuditMonth,
  ensureAuditMonth,
  findAuditEntries,
  findAuditRootsOfMonth,
  findChainEnds,
  findChainRoots,
  findEntriesSealedAfter,
  findEntryHashes,
  findFirstKeptMonth,
  findFirstSealedSince,
  findLastAuditEntry,
  insertAuditEntries,
  listAuditMonths,
  type Month,
  monthAfter,
  type SealPlace,
  type StoredAuditEntry,
} from "./audit-entries.ts";
export { findAllSealed, findSealedHeads, findSealedProgress, writeSealedHead, writeSealedProgress } from "./audit-seals.ts";
export {
  advanceTarget,
  claimTarget,
  countTargetFailures,
  failTarget,
  findTargets,
  findTargetsWithout,
  markMonthMissed,
  noteTargets,
  releaseTarget,
} from "./audit-targets.ts";
export { findRestores, insertRestore } from "./restores.ts";
