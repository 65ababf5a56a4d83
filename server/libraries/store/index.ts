// Public entry of the module: the tables of libraries, and the statements on them.

export {
  type ArtifactRow,
  countArtifacts,
  findArtifacts,
  findArtifactVersions,
  findWantedVersions,
  type LibraryFilter,
  refreshLibraryStatistics,
  withdrawLibraries,
  writeLibraries,
} from "./library-artifacts.ts";
export { countVersions, refreshVersionStatistics, type VersionRow } from "./library-versions.ts";
export {
  type ComparedItem,
  type Contribution,
  countAvailability,
  countRequestedLibraries,
  countRequestedVersions,
  countRequestItems,
  findContributions,
  findItemsToCompare,
  findItemUids,
  findLibraryRequests,
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
