// The public entry: rows in PostgreSQL, and the vault for what must be secret in them.

export { violatedConstraint } from "./faults.ts";
export {
  type AdvisoryRow,
  type Changed,
  type DocumentsAsk,
  type FacetFilter,
  findChangedAdvisories,
  findChangedDocuments,
  findDocumentIds,
  findFacets,
  findImagePackages,
  findOnPackages,
  findOrigins,
  findPublished,
  findPublishedById,
  findSubpackages,
} from "./advisory-reads.ts";
export {
  type AuditEntry,
  dropAuditMonth,
  ensureAuditMonth,
  findAuditEntries,
  findAuditRootsOfMonth,
  findChainEnds,
  findChainRoots,
  findLastAuditEntry,
  insertAuditEntries,
  listAuditMonths,
  type Month,
  monthAfter,
  type StoredAuditEntry,
} from "./audit-entries.ts";
export { findAllSealed, findSealedHeads, findSealedProgress, type SealedProgress, writeSealedHead, writeSealedProgress } from "./audit-seals.ts";
export { writeBuiltInRole, writeOperator } from "./built-ins.ts";
export {
  type AttemptResult,
  type ClaimedDelivery,
  claimDeliveries,
  type ClaimQuota,
  completeDeliveries,
  findDueDeliveries,
  insertDeliveries,
  releaseNext,
  replayDeliveries,
  resetDelivery,
  type SubjectQueue,
  type SubscriptionLoad,
} from "./deliveries.ts";
export { deleteExpiredInvites } from "./expired-invites.ts";
export { recordKey } from "./feed-rows.ts";
export {
  claimFeed,
  countFeedFiles,
  feedFailures,
  type FeedPart,
  type FeedSource,
  findFeedParts,
  findFeedRecords,
  openFeed,
  releaseFeed,
  renewFeed,
  sweepFeed,
  writeFeedParts,
} from "./feeds.ts";
export type { Check, Param, Read, Row, Store, Write } from "./handle.ts";
export { openStore, type StoreOptions } from "./open.ts";
export { openVault, type Vault, type VaultOptions, vaultOf } from "./vault.ts";
export { findHolders, type GivingBinding } from "./holders.ts";
export { deleteExpiredKey, findFirstAnswer, type IdempotencyKey, insertKey, updateFirstAnswer } from "./idempotency-keys.ts";
export {
  type AuditedEvent,
  findEventsAfter,
  findLastPosition,
  hasUnnumberedEvents,
  insertEvent,
  insertRefusals,
  type NewEvent,
  type NewRefusal,
  numberEvents,
} from "./outbox.ts";
export { findBoundPeople } from "./people.ts";
export { ping } from "./ping.ts";
export type { Retention } from "./retention.ts";
export { retentions } from "./retentions.ts";
export { type BindingRow, type BoundIdentity, findBoundIdentity, findOrganizationRights, findSessionGrants } from "./rights.ts";
export { clientSecretPurpose, findMappedRoles, findProvider, type Provider } from "./identity-providers.ts";
export {
  type ArtifactRow,
  countArtifacts,
  countVersions,
  findArtifacts,
  findArtifactVersions,
  type LibraryAsk,
  type LibraryFilter,
  type VersionRow,
} from "./libraries.ts";
export { lockExclusive, lockShared } from "./lock.ts";
export { timeText } from "./time-text.ts";
export { type Branch, type Condition, countRows, isLarge, listRows, needsSize, type Page, pageStatement, type Selection, wholeTable } from "./list.ts";
export { lockPerson, writeSaid } from "./metadata.ts";
export { findVerified, noteAccessRequest, setOrganizationStatus } from "./organizations.ts";
export { findManifests, insertManifests, type Manifest, type ManifestFact } from "./manifests.ts";
export type {
  AdvisoryEventData,
  AdvisoryEventRecord,
  AdvisoryRecord,
  FalsePositiveType,
  FeedRecord,
  ImagePackagesRecord,
  LibraryArtifactRecord,
  LibraryVersionRecord,
  PackageOriginRecord,
  RecordTarget,
  ReferenceRecord,
  ScanDetection,
  SeverityRecord,
  VulnerabilityRecord,
  Written,
} from "./records.ts";
export { findKnownRoles, findProfile, type KnownRole, type Profile } from "./profiles.ts";
export {
  countBelow,
  countReferences,
  deleteBelow,
  deleteRow,
  findNamed,
  findRow,
  findRows,
  holdsBelow,
  insertRow,
  insertRowUnlessTaken,
  isReferenced,
  lockNamed,
  lockRow,
  readColumns,
  type Table,
  takeBelow,
  takeReferences,
  updateRow,
  type Values,
} from "./rows.ts";
export { countHolders, enableScim, findScim, lockScim, replaceScimToken, revokeScimTokens, type ScimState } from "./scim.ts";
export {
  countVulnerabilities,
  findVulnerabilities,
  type VulnerabilitiesAsk,
  type VulnerabilityRow,
} from "./vulnerabilities.ts";
export { areSigningKeysOlder } from "./signing-keys.ts";
export { type KnownSeverities, readSeverities, severitiesOf } from "./severities.ts";
export { clearFailing, disableFailing, findSubscriptionSecret, markFailing } from "./subscriptions.ts";
export { findAcceptedTerms } from "./terms.ts";
export { checkAccessVersion, insertAccessVersion, StaleAccess, type AccessVersion, withAccessVersionCheck } from "./access-version.ts";
export { settleRecords, withdrawVanished, writeRecords } from "./write-records.ts";
