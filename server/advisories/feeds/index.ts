// Public entry of the module: imports third-party feeds, and serves published records as documents. Importers are loaded lazily
// to save memory.

import type { Services } from "#kernel";
import type { FeedImport, FeedSummary } from "./import-feed.ts";
import type { ReportImport, ReportImportSummary } from "./reports/import-reports.ts";
import type { UndoImport, UndoSummary } from "./undo-import.ts";
import type { Schedule, ScheduledFeed, ScheduleOptions } from "./schedule.ts";

export { type CsafOptions, openCsaf } from "./csaf/index.ts";
export { readFeedFile } from "./feed-files.ts";
export type { ChartImage } from "./charts/read-chart.ts";
export { openDocuments, withdrawalHeaders } from "./documents/index.ts";
export {
  type Coverage,
  type CoverageOf,
  type CoverageState,
  type Ecosystem,
  ecosystemKey,
  ecosystemOfKey,
  latestTime,
  optionalTime,
  readCoverage,
} from "./coverage.ts";
export { decisionWriters, type DecisionWriterName, type ExportedDecisions, statedIds, statementsOf } from "./decisions/index.ts";
export { matchImages } from "./match-images.ts";
export { answerOsvQuestion, answerOsvQuestions, openArchives, type OsvEndpoint, openOsv, requireOsvRecord } from "./osv/index.ts";
export { readQuestion, readQuestions } from "./osv/question.ts";
export { openSecdb } from "./secdb/index.ts";
export { openVexRepository } from "./vex-repository/index.ts";
export { ecosystemOf, formatOfFile, isRequirementFormat, readRequirements, type Requirement, type RequirementFormat } from "./requirements/index.ts";
export { importRegistry, type RegistryImport, type RegistrySummary } from "./registry.ts";
export type { Finding, FixState, ReportSeverity } from "./reports/findings.ts";
export type { ReportImport, ReportImportSummary } from "./reports/import-reports.ts";
export { unpackFindings, unpackRawReport } from "./reports/stored-report.ts";
export type { OpenDocument } from "./sbom/document-queue.ts";
export { type NamedPackage, packageOfLabel, type PackagesOfPurls, packagesOfPurls, positionsOfPurls } from "./sbom/packages-of-purls.ts";
export { openSbomReaders, type SbomReaders } from "./sbom/read-waiting.ts";
export { openShownCharts, type ShownCharts } from "./charts/shown-charts.ts";
export { graphOf, type SbomGraph } from "./sbom/graph.ts";
export { type SbomContents, type SbomWriterName, sbomWriters } from "./sbom/write/index.ts";
export { openShownSboms, type ShownSbom, type ShownSboms } from "./sbom/shown-sboms.ts";
export { readPublicKey } from "./vex/public-key.ts";
export type { FeedKind } from "./formats/format.ts";
export type { FeedImport, FeedSummary } from "./import-feed.ts";
export type { UndoImport, UndoSummary } from "./undo-import.ts";
export type { Fetch } from "./fetching.ts";

export { countOutdatedFeeds } from "./reader-version.ts";
export type { Schedule, ScheduledFeed } from "./schedule.ts";

export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> =>
  (await import("./import-feed.ts")).importFeed(services, options);

/** Restores what the last import of a source replaced. */
export const undoImport = async (services: Services, options: UndoImport): Promise<UndoSummary> =>
  (await import("./undo-import.ts")).undoImport(services, options);

export const importReports = async (services: Services, options: ReportImport): Promise<ReportImportSummary> =>
  (await import("./reports/import-reports.ts")).importReports(services, options);

/** Reads GANTRY_FEEDS. Throws a one-line Fault if it is invalid. */
export const readFeedsFile = async (file: string): Promise<readonly ScheduledFeed[]> => (await import("./schedule.ts")).readFeedsFile(file);

export const startFeeds = async (options: ScheduleOptions): Promise<Schedule> => (await import("./schedule.ts")).startSchedule(options);
