// The public entry of the store: rows in PostgreSQL, and the vault for what must be secret in them.

export { findDeliveryBacklog, findFeedStates, findOutboxBacklog, findRegistryBacklog, findSchemaVersion } from "./backlog.ts";
export { brokenConnection, sqlState, violatedConstraint } from "./faults.ts";
export {
  advanceTarget,
  type AuditTargetState,
  claimTarget,
  countTargetFailures,
  failTarget,
  findTargets,
  findTargetsWithout,
  markMonthMissed,
  noteTargets,
  releaseTarget,
} from "./audit-targets.ts";
export {
  type AdvisoryRow,
  type MatchableAdvisory,
  findChangedAdvisories,
  findChangedDocuments,
  findMatchable,
  findOnPackages,
  findPublished,
  findPublicNumbers,
  findOwnDocuments,
  findOwnHistory,
  findOwnPast,
  findOwnPrivateDocuments,
  findOwnPublished,
  findOwnArtifacts,
  findOwnPublishedBehind,
  findOwnPublishedByArtifacts,
  findOwnPublishedById,
  findOwnPrivateByArtifacts,
  findOwnPrivateByIds,
  findOwnPrivateByOrigins,
  findOwnPrivateArtifacts,
  findOwnPrivateNumbers,
  findOwnPrivateOrigins,
  findChangedPrivateAdvisories,
  findChangedPrivateDocuments,
  findOwnPublishedByIds,
  readAdvisoryState,
  type ChangedAdvisory,
  type ChangedDocument,
  type OwnArtifact,
  type OwnDocument,
  type PrivateDocument,
  findToldAdvisories,
  markAdvisoriesPublic,
  type ToldRow,
  withdrawAdvisories,
  findFingerprints,
  findFingerprintsOf,
  writeAuthoredRecord,
} from "./advisories.ts";
export {
  type AuthoredAdvisory,
  type AuthoredEvent,
  findAuthorApproval,
  findAuthoredEvents,
  findOrganizationName,
  findSuppressors,
  lockAuthoredAdvisory,
  nextAdvisoryNumber,
  noteAuthor,
  noteBasis,
  noteSuppression,
  reservePrefix,
  type Suppressor,
} from "./authored-advisories.ts";
export { countDocuments, type DocumentFilter, type DocumentRow, findDocumentChanges, findDocuments, findOriginsByFileName } from "./advisory-documents.ts";
export {
  type CsafDocument,
  type CsafFacts,
  type CsafIssuer,
  findCsafDocuments,
  findCsafDocumentsNamed,
  findReadableCsafDocuments,
  findReadableCsafDocumentsNamed,
  findReadableCsafIssuers,
  findCsafIssuers,
  findCsafPlaces,
} from "./csaf-documents.ts";
export { documentKeyBinding, documentKeyPurpose, insertDocumentKey, listDocumentKeys } from "./document-signing-keys.ts";
export { type FacetFilter, findFacets } from "./advisory-facets.ts";
export { addChanges, addOwnedCounts, changeCount, noChanges, noCounts, noOwnedCounts, addCounts, type OwnedChanges, type OwnedCounts } from "./feed-counts.ts";
export {
  type BlobRemoval,
  collectBlobs,
  collectRepoBlobs,
  countBlobs,
  deleteBlobRemovals,
  deleteRepoBlob,
  deleteStaleBlobWrites,
  endBlobWrite,
  extendBlobWrite,
  extendLease,
  findBlobPage,
  findBlobRemovals,
  findBlobs,
  findCollectableBlobs,
  findNamedKeys,
  findRepoBlob,
  findRepoBlobPage,
  findReposOfBlob,
  findStoredBlob,
  findRepoWithBlob,
  holdRepoBlobs,
  insertBlobRemoval,
  insertRepoBlob,
  lockRepoBlob,
  mountRepoBlob,
  type RepoBlob,
  type RepoBlobName,
  setBlobHidden,
  type StoredBlob,
} from "./blobs.ts";
export {
  type AskedManifest,
  countManifestDigests,
  deleteManifest,
  findIndexesOf,
  findManifestByDigest,
  findManifestByTag,
  findManifestPage,
  findManifestsKeptBy,
  findReferrers,
  findTagNames,
  findTagsOfDigest,
  findUnusedManifests,
  holdManifest,
  insertManifest,
  isBlobNeeded,
  lockManifest,
  lockUnusedManifest,
  type ManifestName,
  type NewManifest,
  type PageManifest,
  type Referrer,
  type StoredManifest,
  useManifests,
} from "./repo-manifests.ts";
export {
  countReservedNames,
  findNameClaim,
  findNameProblems,
  findUnverifiedHolders,
  isNameShared,
  listReservedNames,
  type NameClaim,
  type NameProblem,
  releaseReservedName,
  type ReservedName,
} from "./group-names.ts";
export { findGroupByNames, findRepoByName, findRepoNames, findRepoOpenness, type NamedGroup, type RepoByName } from "./repo-names.ts";
export {
  countPendingRepos,
  countStalePendingRepos,
  deleteStalePendingRepos,
  findAdoptingRepo,
  findPendingRepos,
  insertPendingRepo,
  lockPendingRepo,
  usePendingRepo,
} from "./pending-repos.ts";
export {
  countStaleUploads,
  deleteHeldUpload,
  deleteStaleUploads,
  deleteUpload,
  extendUploadHold,
  findUpload,
  holdUpload,
  insertUpload,
  releaseUpload,
  type UploadRow,
  updateUpload,
} from "./uploads.ts";
export { type BlobPlaceRow, ensureBlobPlace, findBlobPlace, findLeftoverSince, takeBlobSweep, takeLeftoverSweep, writeBlobPlace } from "./blob-places.ts";
export { type Catalogue, type CatalogueColumn, type CatalogueIndex, type CatalogueTable, type CatalogueTrigger, readCatalogue } from "./catalogue.ts";
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
  type SealedEntry,
  type SealPlace,
  type StoredAuditEntry,
} from "./audit-entries.ts";
export { findAllSealed, findSealedHeads, findSealedProgress, type SealedProgress, writeSealedHead, writeSealedProgress } from "./audit-seals.ts";
export {
  advanceDeliveries,
  type AttemptResult,
  type ClaimedDelivery,
  claimDeliveries,
  type ClaimQuota,
  completeDeliveries,
  deliveryUidOf,
  type EventPart,
  findDelayedDeliveries,
  findDueDeliveries,
  findNextDelivery,
  insertDeliveries,
  insertSingleDeliveries,
  insertSomeDeliveries,
  postponeDelivery,
  releaseNext,
  replayDeliveries,
  resetDelivery,
  type SubjectQueue,
  type SubscriptionLoad,
} from "./deliveries.ts";
export {
  type Advanced,
  advanceFanOuts,
  deleteFanOuts,
  extendFanOuts,
  type FanOut,
  findFanOutFailures,
  findFanOuts,
  findSingleFanOuts,
  insertFanOut,
  type NewFanOut,
  postponeFanOut,
  readFanOuts,
} from "./fan-outs.ts";
export {
  countFeedParts,
  countFeedRecords,
  deleteFeedPartsExcept,
  deleteFeedParts,
  findFeedPartsExcept,
  forgetFileDigests as forgetAllDigests,
  forgetPartDigests,
  markAbsentFiles,
  type FeedPart,
  findFeedParts,
  findToldRecords,
  findPartRecords,
  type KnownParts,
  partKey,
  writeFeedParts,
} from "./feed-files.ts";
export { type FeedValidator, findFeedValidators, writeFeedValidators } from "./feed-validators.ts";
export { claimFeed, countFeedFailures, releaseFeed, renewFeed } from "./feed-schedules.ts";
export { findPrivateRecords, type Places, type PrivateRecords } from "./private-records.ts";
export {
  closeRun,
  closeUndo,
  countFeedsReadOtherwise,
  countHeldFeeds,
  countStaleFeeds,
  findStaleFeeds,
  writeStaleAfter,
  type FeedOutcome,
  type FeedSource,
  findFeedsOfSource,
  findHeldBack,
  findTroubledFeeds,
  type HeldBack,
  type HeldReason,
  lockFeed,
  openFeed,
  type UndoableFeed,
  readPublishedState,
  updateFeed,
  writeFeedOutcome,
  writeHeldBack,
} from "./feeds.ts";
export { type CoveringFeed, findCoveringFeeds, refreshFeedEcosystems } from "./feed-ecosystems.ts";
export {
  countKnownImages,
  type CoveragePlace,
  deleteImageCoverageExcept,
  findDigestEcosystems,
  findGroupEcosystems,
  findImageEcosystems,
  findImagesWith,
  findTagEcosystems,
  findUnreadImages,
  placeBelow,
  placeOnly,
  refreshAdvisoryCoverage,
  type UnjudgedImage,
  writeImageCoverage,
} from "./image-coverage.ts";
export { type FeedHistory, findFeedHistory, noteFeedDay, resetFeedDays } from "./feed-days.ts";
export {
  deleteAllReversals,
  deleteReversals,
  deleteReversalsBehind,
  type FeedRun,
  findReversals,
  keepParts,
  type Reversal,
} from "./feed-reversals.ts";
export {
  type AffectedImageDraft,
  type HeldRow,
  affectedImageUid,
  countImagesOf,
  endAffectedImages,
  type AffectedPackageOfImage,
  findAffectedByPackages,
  findAffectedOfImages,
  findKnownImages,
  findReposChangedSince,
  type KnownImage,
  findAffectedByRepos,
  findAffectedRepos,
  findImageRepos,
  findImageRoots,
  findInstalledVersions,
  findLeftAdvisories,
  findTaggedImages,
  lockMatching,
  type ImageRepo,
  type SizedRepo,
  type TaggedImage,
  writeAffectedImages,
} from "./affected-images.ts";
export {
  claimPushedReport,
  deletePushedReport,
  deletePushedReportsOf,
  insertPushedReports,
  isPushedReportDue,
  postponePushedReport,
  type WaitingReport,
} from "./pushed-reports.ts";
export {
  deleteVulnReportsOf,
  findImagesBehind,
  findLatestDocuments,
  findRawVulnReport,
  findReposNamed,
  findReposOfImages,
  findTagImages,
  findVulnCounts,
  findVulnReport,
  findVulnReportIds,
  insertVulnReports,
  readVulnReports,
  type VulnCountState,
  type VulnReportDraft,
  type VulnReportFilter,
  type VulnReportHead,
} from "./vuln-reports.ts";
export {
  deleteEndedTag,
  deleteTagPolicy,
  findDuePatterns,
  findTagPolicies,
  type HeldTag,
  insertEndedTag,
  lockDuePolicy,
  lockEndedTags,
  lockTagsBehind,
  lockTagsToCheck,
  noteSeenTags,
  recheckTag,
  recheckTagsOf,
  type TagPolicy,
  writeTagPolicy,
} from "./tag-policies.ts";
export { appendTagHistory, findTagHistory, findTagName, type TagHistoryEntry } from "./tag-history.ts";
export {
  addAdvisoriesToMatch,
  addPackageToMatch,
  addOrganizationToMatch,
  type ChangeToMatch,
  deleteChangesToMatch,
  findChangesToMatch,
} from "./changes-to-match.ts";
export { findImagePackages, type ImageOwners, type ImagePackages } from "./image-packages.ts";
export {
  claimSbom,
  completeSbom,
  findReadSboms,
  findSbomPackages,
  findSbomsBehind,
  findUnmatchedRoots,
  insertSboms,
  isSbomDue,
  markMatched,
  postponeSbom,
  type PushedSbom,
  type ReadSbomRow,
  type WaitingSbom,
  withdrawSbomsOf,
} from "./image-sboms.ts";
export { findOrigins, findSubpackages } from "./package-origins.ts";
export type { Check, Param, Read, Row, Rows, Store, Write } from "./handle.ts";
export { openLooks } from "./looks.ts";
export { countOpenRows, countOpenRowsOf, type OpenRowsTable } from "./open-rows.ts";
export { readDatabaseTime } from "./database-time.ts";
export { type Host, readHosts, readReplicaHost } from "./hosts.ts";
export {
  type AppliedMigration,
  beginRestore,
  endRestore,
  migrate,
  type MigrationState,
  readBackedUpSchema,
  readMigrationState,
  requireMigrations,
} from "./migrate.ts";
export { openPreparedStore, openStore, prepareDatabase, type StoreOptions } from "./open.ts";
export { type HostState, readHostStates } from "./primary.ts";
export { type CurrentCopy, findCurrentCopy } from "./replica.ts";
export { bindSealed } from "./bind-sealed.ts";
export { type Binding, openVault, readSecretKey, type Vault, type VaultOptions, vaultOf, writeSecretKey } from "./vault.ts";
export { findHolders, type GivingBinding } from "./holders.ts";
export { deleteExpiredKey, findFirstAnswer, type IdempotencyKey, insertKey, updateFirstAnswer } from "./idempotency-keys.ts";
export {
  type AuditedEvent,
  findEventsAfter,
  findLastEventTime,
  findLastPosition,
  findLastGroupEvent,
  findUnnumberedEvents,
  hasUnnumberedEvents,
  insertEvent,
  insertRefusals,
  type NewEvent,
  type NewRefusal,
  type NumberedEvent,
  numberEvents,
  sendEvent,
} from "./outbox.ts";
export { findRestores, insertRestore } from "./restores.ts";
export {
  type DeletedRange,
  findDeletedRows,
  findKeptTables,
  insertDeletion,
  isKeptWhole,
  keepDeleted,
  keepHeldRow,
  type Keeping,
  type KeptTable,
  lockDeletion,
  removeDeletion,
  returnResources,
  returnRows,
  takeDeleted,
} from "./deletions.ts";
export type { Retention } from "./retention.ts";
export { type Swept, sweptNothing } from "./retention.ts";
export { retentions } from "./retentions.ts";
export {
  type BindingRow,
  type BoundIdentity,
  findBindingUids,
  findBoundIdentity,
  findMappingGrants,
  findSessionGrants,
  findSignInOrganizations,
  type MappingGrantRow,
} from "./rights.ts";
export { hasAwsRequest, insertAwsRequest } from "./aws-requests.ts";
export {
  approveDeviceCode,
  deleteDeviceCode,
  deleteEndedDeviceCodes,
  findOpenDeviceCode,
  hasDeviceCode,
  insertDeviceCode,
  lockDeviceCode,
  refuseDeviceCode,
  updateDevicePoll,
} from "./device-codes.ts";
export { listMappedRoles } from "./external-group-role-mappings.ts";
export { insertAccessRequest } from "./group-access-requests.ts";
export { findExpiredInvites, findInviteUid, type Invite, listExpiredInvitesOfRole, lockExpiredInvites, lockInvite } from "./group-invites.ts";
export { findGroupName, findOrganizations, findVerifiedOrganization, isOrganizationSuspended, updateOrganizationStatus } from "./groups.ts";
export {
  type AuthorizationCodeRow,
  deleteSomeEndedAuthorizationCodes,
  hasAuthorizationCode,
  insertAuthorizationCode,
  lockAuthorizationCode,
  useAuthorizationCode,
} from "./authorization-codes.ts";
export { deleteExpiredHeadlessSessions, hasHeadlessSession, insertHeadlessSession, takeHeadlessSession } from "./headless-sessions.ts";
export type { ScimCondition, ScimOperator, ScimPartTerm } from "./scim-lists.ts";
export {
  countScimGroups,
  deleteOtherScimMembers,
  deleteScimGroup,
  deleteScimMemberships,
  deleteScimMembers,
  findScimGroup,
  lockGroupsOfScimUser,
  lockScimUserUids,
  type GroupOfScimUser,
  insertScimGroup,
  insertScimMembers,
  listGroupsOfScimUsers,
  listScimGroups,
  listScimMembers,
  lockScimGroup,
  type ScimGroupAttribute,
  type ScimGroupQuery,
  type ScimGroupRow,
  type ScimMember,
  updateScimGroup,
} from "./scim-groups.ts";
export {
  countScimUsers,
  deleteScimRemoval,
  deleteScimUser,
  findScimIdentity,
  findScimUser,
  hasScimPeople,
  insertScimUser,
  isDismissedAt,
  isDismissedBy,
  listScimUsers,
  lockScimPerson,
  lockScimStanding,
  lockScimUser,
  type ScimUserAttribute,
  type ScimUserKeys,
  type ScimUserQuery,
  type ScimUserRow,
  updateScimUser,
  writeScimArrival,
  writeScimIdentity,
  writeScimRemoval,
} from "./scim-users.ts";
export {
  findBoundPeople,
  findIdentitiesOf,
  findIdentity,
  findIdentityEmail,
  findIdentityName,
  findIssuerPatterns,
  findPatternHolders,
  hasIdentity,
  hasPersonOfIssuer,
  type Identity,
  lockPersonAndProvider,
  updateLastSeen,
  writeOperator,
} from "./identities.ts";
export { lockPerson, writeIdentityMetadata } from "./identity-metadata.ts";
export {
  clientSecretBinding,
  clientSecretPurpose,
  scimEnabledColumns,
  findProvider,
  holdProviderRow,
  findProvidersOfOnlyOrganization,
  findProvidersOfOrganization,
  findScim,
  findScimAccess,
  listClientIds,
  listProviderIssuers,
  lockScim,
  type OfferedProvider,
  type Provider,
  scimTokenColumns,
  scimRevokedColumns,
  type ScimAccess,
  type ScimState,
} from "./identity-providers.ts";
export {
  countPendingBindings,
  countPersonOrganizations,
  findPersonOrganization,
  findPersonOrganizations,
  findSeenIdentities,
  findUnansweredOrganizations,
  findUnjoinedOrganizations,
  insertMembership,
  insertMembershipDecline,
  type MembershipBasis,
  type NamedIdentity,
  type PendingBindingCounts,
  type PersonOrganization,
} from "./memberships.ts";
export { recordKey, vulnerabilityKey } from "./feed-rows.ts";
export {
  type AffectedPackage,
  type AskedPackage,
  findNamedPackages,
  findPrivateNamedPackages,
  findPrivatePackageDocuments,
  findPackageDocuments,
  findPackageEntries,
  type PackageDocument,
} from "./affected-packages.ts";
export {
  type ArchivedDocument,
  deleteReplacedDocuments,
  type DocumentDraft,
  type DocumentPart,
  type DocumentStep,
  findArchivedDocuments,
  findModifiedDocuments,
  findWithdrawnDocuments,
  findDocumentStep,
  findPublicEcosystems,
  findPrivateEcosystems,
  findReadableArchivedDocuments,
  findReadableDocuments,
  findReadableDocumentsOfForm,
  findReadableModifiedDocuments,
  findReadableWithdrawnDocuments,
  findPublicDocuments,
  findPublicDocumentsOfForm,
  findPublicDocumentsOf,
  findPrivateDocumentsOfAll,
  findPublicDocumentsOfAll,
  findSourceDocuments,
  findTellers,
  type GoneRecord,
  type MissingRecords,
  countMissing,
  findFilesOfForms,
  markDocumentsMissing,
  clearMissing,
  markMissing,
  releaseAdded,
  releaseMissing,
  markDocumentsPublic,
  type ModifiedPosition,
  type OsvFacts,
  type PublicDocument,
  takeGoneRecords,
  type Teller,
  writeDocuments,
  type WithdrawnDocument,
  findTellersOfNumbers,
  findToldOrigins,
  takePendingDocuments,
  type WrittenDocuments,
} from "./source-documents.ts";
export { isBackupRunning, limitPiece, lockExclusive, lockOrder, tryLockOrder } from "./lock.ts";
export {
  type BackupHold,
  type CopiedSequence,
  type CopiedTable,
  holdBlobs,
  type Loading,
  openLoading,
  openSnapshot,
  type Snapshot,
} from "./copying.ts";
export { findLifecycles, findLifecyclesBelow, type Lifecycle } from "./lifecycles.ts";
export { type ArtifactRow, countArtifacts, findArtifacts, findArtifactVersions, findWantedVersions, type LibraryFilter } from "./library-artifacts.ts";
export {
  type ComparedItem,
  type Contribution,
  countAvailability,
  countRequestedLibraries,
  countRequestedVersions,
  countRequestItems,
  findContributions,
  findLibraryRequests,
  findItemsToCompare,
  findItemUids,
  findRequestedLibraries,
  findRequestedVersions,
  findRequestItems,
  insertRequestItems,
  type ItemCoverage,
  type RequestedPlace,
  type RequestItem,
  setItemsRemoved,
  updateItemCoverage,
} from "./request-group-items.ts";
export { countVersions, type VersionRow } from "./library-versions.ts";
export { timeText } from "./time-text.ts";
export { containingPattern, hasTrigram } from "./search-text.ts";
export { type Branch, type Condition, countRows, isLarge, listRows, needsSize, type Page, pageStatement, type Selection, wholeTable } from "./list.ts";
export { deleteImageFacts, findManifests, findPlatformManifests, insertManifests, type Manifest, type ManifestFact } from "./manifests.ts";
export type {
  AdvisoryEventData,
  AdvisoryEventRecord,
  AdvisoryRecord,
  ExploitPredictionRecord,
  FalsePositiveType,
  FactRecord,
  FeedRecord,
  ImagePackagesRecord,
  KnownExploitRecord,
  LibraryArtifactRecord,
  LifecycleRecord,
  LifecycleRelease,
  LibraryVersionRecord,
  PackageOriginRecord,
  RecordTarget,
  RecordTeller,
  ReferenceRecord,
  ScanDetection,
  SeverityRecord,
  VulnerabilityRecord,
  WriteCounts,
} from "./records.ts";
export { findProfile, writeProfile } from "./profiles.ts";
export { findReadme, type Readme } from "./readmes.ts";
export { derivedUidOf } from "./feed-rows.ts";
export { insertProviderArrival } from "./provider-arrivals.ts";
export { deleteQuota, findQuotas, findQuotasOf, type SetQuota, writeQuota } from "./quotas.ts";
export {
  deleteRefreshToken,
  deleteRefreshTokensThrough,
  findRefreshToken,
  insertRefreshToken,
  type RefreshTokenFamily,
  replaceRefreshTokenSecret,
} from "./refresh-tokens.ts";
export { exceededQuota, findResourceCounts, findSpentStorage, quotaNameOf, takeGrantsBack } from "./resource-counts.ts";
export { insertRevokedGrant, isGrantRevoked } from "./revoked-grants.ts";
export { countIdentitiesBoundWith, findRoleBindingUid, hasOwnersBeside, listBindingsBelow } from "./role-bindings.ts";
export { findKnownRoles, writeBuiltInRole } from "./roles.ts";
export {
  areEmpty,
  countBelow,
  countReferences,
  deleteBelow,
  deleteRow,
  findNamed,
  findRow,
  findRows,
  holdsBelow,
  insertRow,
  requireHeldRow,
  insertRowUnlessTaken,
  isReferenced,
  lockNamed,
  lockRow,
  type RowRange,
  type Table,
  takeBelow,
  takeReferences,
  updateRow,
  type Values,
} from "./rows.ts";
export { deleteSessionsThrough, insertSession } from "./sessions.ts";
export {
  countSignInSessions,
  deleteSignInSession,
  findSessionsToEnd,
  findSignInSessions,
  keyOfSession,
  type SessionFilter,
  type SessionView,
  type SignInSessionRow,
  type StoredSession,
  writeSignInSession,
} from "./sign-in-sessions.ts";
export { deleteSomeExpiredSignIns, insertSignIn, type SignInRow, takeSignIn } from "./sign-ins.ts";
export {
  areSigningKeysOlder,
  deleteRetiredSigningKeys,
  hasUnretiredSigningKey,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  retireSigningKeys,
  signingKeyBinding,
  signingKeyPurpose,
} from "./signing-keys.ts";
export {
  countVulnerabilities,
  deleteVulnerabilities,
  findPublicVulnerabilities,
  findToldVulnerabilities,
  findVulnerabilities,
  type VulnerabilityFilter,
  type VulnerabilityRow,
  withdrawVulnerabilities,
} from "./vulnerabilities.ts";
export { type KnownSeverities, readSeverities, severitiesOf } from "./severities.ts";
export {
  clearFailing,
  findListeningOrganizations,
  lockFailing,
  findSubscriptionSecret,
  markFailing,
  subscriptionSecretBinding,
  subscriptionSecretPurpose,
} from "./subscriptions.ts";
export { addColumnStatement, addPrimaryKeyStatement, countTriggers, createCountTriggerStatement, createIndexStatement } from "./table-statements.ts";
export { findAcceptancesOf, findAcceptedTerms } from "./terms-acceptances.ts";
export { addWrongUserCodes, findMostWrongUserCodes } from "./user-code-guesses.ts";
export {
  checkAccessVersion,
  requireAccessVersion,
  growAccessVersion,
  insertAccessVersion,
  raiseAccessVersions,
  StaleAccess,
  type AccessVersion,
  withAccessVersionCheck,
} from "./access-version.ts";
export { deleteFacts, deleteVanishedFacts, isFact, moveFacts, writeFacts } from "./vulnerability-facts.ts";
export { refreshRecordStatistics, withdrawVanished, writeRecords } from "./write-records.ts";
export { deleteDeployment, findDeployment, findSwappedCharts, insertDeployment, updateDeployment } from "./repo-deployments.ts";
export { findRegistrySettings, type RegistrySettings, writeRegistrySettings } from "./registry-settings.ts";
export { countReposOfSource, findTagsSummary, type LeftOutTags, type TagsSummary } from "./tags-summary.ts";
export {
  deleteSuccessors,
  findDroppedAdvisories,
  findDroppedVulnerabilities,
  findGroupSuccessors,
  findPublicSuccessors,
  type DroppedRecord,
  type Successor,
  writeSuccessors,
} from "./record-successors.ts";
