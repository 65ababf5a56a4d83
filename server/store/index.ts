// The store's face: rows in PostgreSQL, and the vault for what must be secret in them.

export { violatedConstraint } from "./faults.ts";
export {
  type AdvisoryRow,
  findChangedAdvisories,
  findChangedDocuments,
  findDocumentIds,
  findOnPackages,
  findPublished,
  findPublishedById,
} from "./advisories.ts";
export { type FacetFilter, findFacets } from "./advisory-facets.ts";
export { addChanges, changeCount, noChanges, noCounts, addCounts, type OwnedChanges, type OwnedCounts, recordOwner } from "./feed-counts.ts";
export {
  countFeedParts,
  deleteFeedPartsExcept,
  type FeedPart,
  findFeedParts,
  findFeedRecords,
  findPartRecords,
  type KnownParts,
  partKey,
  writeFeedParts,
} from "./feed-files.ts";
export { recordKey } from "./feed-rows.ts";
export { claimFeed, countFeedFailures, releaseFeed, renewFeed } from "./feed-schedules.ts";
export { type FeedSource, lockFeed, openFeed, updateFeed } from "./feeds.ts";
export { findImagePackages } from "./image-packages.ts";
export { findOrigins, findSubpackages } from "./package-origins.ts";
export type { Check, Param, Read, Row, Store, Write } from "./handle.ts";
export { openStore, type StoreOptions } from "./open.ts";
export { openVault, type Vault, type VaultOptions, vaultOf } from "./vault.ts";
export { findHolders, type GivingBinding } from "./holders.ts";
export { findBoundPeople } from "./people.ts";
export { clientSecretPurpose, findMappedRoles, findProvider, type Provider } from "./identity-providers.ts";
export { type ArtifactRow, countArtifacts, findArtifacts, findArtifactVersions, type LibraryFilter } from "./library-artifacts.ts";
export type { LibraryPage } from "./library-pages.ts";
export { countVersions, type VersionRow } from "./library-versions.ts";
export { lockAlone, lockTogether } from "./lock.ts";
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
  WriteCounts,
} from "./records.ts";
export { findKnownRoles, findProfile, type KnownRole, type Profile } from "./profiles.ts";
export {
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
  takeRows,
  updateRow,
  type Values,
} from "./rows.ts";
export { countHolders, enableScim, findScim, lockScim, replaceScimToken, revokeScimTokens, type ScimState } from "./scim.ts";
export {
  countVulnerabilities,
  findVulnerabilities,
  type VulnerabilityRow,
} from "./vulnerabilities.ts";
export { type KnownSeverities, readSeverities, severitiesOf } from "./severities.ts";
export { findAcceptedTerms } from "./terms.ts";
export { checkAccessVersion, StaleAccess, type AccessVersion, withAccessVersionCheck } from "./access-version.ts";
export { refreshRecordStatistics, withdrawVanished, writeRecords } from "./write-records.ts";
