// Public entry of the module: the tables of registry, and the statements on them.

export { ensureBlobPlace, findBlobPlace, findLeftoverSince, takeBlobSweep, takeLeftoverSweep, writeBlobPlace } from "./blob-places.ts";
export {
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
  findRepoWithBlob,
  findStoredBlob,
  holdRepoBlobs,
  insertBlobRemoval,
  insertRepoBlob,
  lockRepoBlob,
  mountRepoBlob,
  type RepoBlob,
  setBlobHidden,
  type StoredBlob,
} from "./blobs.ts";
export { findLifecycles, findLifecyclesBelow, type Lifecycle, withdrawLifecycles, writeLifecycles } from "./lifecycles.ts";
export { deleteImageFacts, findManifests, findPlatformManifests, insertManifests, type Manifest, type ManifestFact } from "./manifests.ts";
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
export { findReadme, type Readme } from "./readmes.ts";
export { findRegistrySettings, type RegistrySettings, writeRegistrySettings } from "./registry-settings.ts";
export { deleteDeployment, findDeployment, findSwappedCharts, insertDeployment, updateDeployment } from "./repo-deployments.ts";
export {
  type AskedManifest,
  type ChartManifest,
  countManifestDigests,
  deleteManifest,
  findIndexesOf,
  findLatestCharts,
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
export { findGroupByNames, findRepoByName, findRepoNames, findRepoOpenness, type NamedGroup } from "./repo-names.ts";
export { appendTagHistory, findTagHistory, findTagName, type TagHistoryEntry, tagHistoryRetention } from "./tag-history.ts";
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
export { countReposOfSource, findTagsSummary } from "./tags-summary.ts";
export {
  countStaleUploads,
  deleteHeldUpload,
  deleteStaleUploads,
  deleteUpload,
  extendUploadLease,
  findUpload,
  holdUpload,
  insertUpload,
  releaseUpload,
  updateUpload,
  type UploadRow,
} from "./uploads.ts";
