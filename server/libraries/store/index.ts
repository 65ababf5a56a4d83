// Public entry of the module: the tables of libraries, and the statements on them.

export * from "./library-artifacts.ts";
export { countVersions, refreshVersionStatistics, type VersionRow } from "./library-versions.ts";
export * from "./request-group-items.ts";
