// Public entry of the module: the tables of advisories, and the statements on them.

export * from "./advisories.ts";
export * from "./advisory-documents.ts";
export { type FacetFilter, findFacets, refreshFacetStatistics } from "./advisory-facets.ts";
export * from "./affected-images.ts";
export {
  type AffectedPackage,
  findNamedPackages,
  findPackageDocuments,
  findPackageEntries,
  findPrivatePackageDocuments,
  type PackageDocument,
} from "./affected-packages.ts";
export { countApprovalPolicies, requiresApproval } from "./approval-policies.ts";
export * from "./authored-advisories.ts";
export * from "./changes-to-match.ts";
export {
  type CsafDocument,
  type CsafFacts,
  type CsafIssuer,
  findCsafDocuments,
  findCsafDocumentsNamed,
  findCsafIssuers,
  findCsafPlaces,
} from "./csaf-documents.ts";
export * from "./document-signing-keys.ts";
export {
  addChanges,
  addCounts,
  addOwnedCounts,
  changeCount,
  noChanges,
  noCounts,
  noOwnedCounts,
  type OwnedChanges,
  type OwnedCounts,
  type RecordOwner,
  recordOwner,
} from "./feed-counts.ts";
export * from "./feed-days.ts";
export * from "./feed-ecosystems.ts";
export {
  countFeedParts,
  countFeedRecords,
  deleteFeedParts,
  deleteFeedPartsExcept,
  type FeedPart,
  findFeedFiles,
  findFeedParts,
  findFeedPartsExcept,
  findPartRecords,
  findAssertedRecords,
  forgetFileDigests as forgetAllDigests,
  forgetPartDigests,
  type KnownParts,
  markAbsentFiles,
  partKey,
  writeFeedParts,
} from "./feed-files.ts";
export {
  deleteAllReversals,
  deleteReversals,
  deleteReversalsBehind,
  feedReversalsRetention,
  findReversals,
  keepParts,
  type Reversal,
} from "./feed-reversals.ts";
export * from "./feed-rows.ts";
export * from "./feed-schedules.ts";
export * from "./feed-validators.ts";
export {
  closeRun,
  closeUndo,
  countFeedsReadOtherwise,
  countHeldFeeds,
  countStaleFeeds,
  findFeedsOfSource,
  findHeldBack,
  findStaleFeeds,
  findTroubledFeeds,
  type HeldBack,
  type HeldReason,
  lockFeed,
  openFeed,
  readPublishedState,
  type UndoableFeed,
  updateFeed,
  writeFeedOutcome,
  writeHeldBack,
  writeStaleAfter,
} from "./feeds.ts";
export { findHeldWithdrawals, type HeldRecord, writeHeldRecords } from "./held-records.ts";
export * from "./due-dates.ts";
export * from "./finding-decisions.ts";
export { countOpenFindings } from "./finding-counts.ts";
export * from "./finding-facts.ts";
export { findFindingDays, findingDaysRetention, writeFindingDay } from "./finding-days.ts";
export { findFindingGroups, findFoundPackages, type FindingGroup, type FindingGroupBy, type FoundPackage, isFindingGroupBy } from "./finding-groups.ts";
export * from "./image-coverage.ts";
export {
  type BaseScope,
  findImagesOnBases,
  findImagesWithLayers,
  findLayeredPlatforms,
  type ImageLayers,
  type LayeredPlatform,
  type PackageOfImage,
  type RequestedBases,
} from "./image-layers.ts";
export {
  findImagePackages,
  findPublicImages,
  type ImageOwners,
  type ImagePackages,
  refreshImageStatistics,
  withdrawImages,
  writeImages,
} from "./image-packages.ts";
export * from "./image-contents.ts";
export * from "./image-sboms.ts";
export { addPackageLabels, findPackageLabels, replacePackageLabels } from "./package-labels.ts";
export * from "./package-origins.ts";
export { findPendingImages, type ImageInRepo } from "./pending-images.ts";
export { openReader, placesAt, publicReader, type Reader, type Visibility } from "./visibility.ts";
export * from "./pushed-reports.ts";
export * from "./record-successors.ts";
export * from "./records.ts";
export { findAffectedPackagesByStart, findVulnerabilitiesByStart } from "./searched.ts";
export * from "./severities.ts";
export * from "./source-documents.ts";
export * from "./vex-sources.ts";
export * from "./vex-statements.ts";
export * from "./vuln-reports.ts";
export {
  countVulnerabilities,
  deleteVulnerabilities,
  findPublicVulnerabilities,
  findAssertedVulnerabilities,
  findVulnerabilities,
  refreshVulnerabilityStatistics,
  type SeverityRow,
  type VulnerabilityFilter,
  type VulnerabilityRow,
  withdrawUnassertedVulnerabilities,
  withdrawVulnerabilities,
  writeVulnerabilities,
} from "./vulnerabilities.ts";
export * from "./vulnerability-facts.ts";
export { findUnreadImages, isUnreadChanged, refreshUnreadImages, refreshUnreadPiece, type UnreadPiece } from "./unread-images.ts";
