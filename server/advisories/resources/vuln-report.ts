// Scanner reports on images (docs/decisions/0034), written by imports, pushes and matching. Version 1 only.

import { invalid, missing } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { covers } from "#base/uid.ts";
import { unpackFindings, unpackRawReport } from "#advisories/feeds";
import { type Outcome, ownWholeList, type ReadContext, resource } from "#kernel";
import { findRawVulnReport, findTagImages, findVulnReportIds, readVulnReports } from "#advisories/store";
import { listCounts } from "./reports/count-days.ts";
import { unjudgedOfDigests } from "./coverage/statement.ts";
import { headOf, isOwnReport, reportOf, withUnjudged } from "./reports/shown.ts";

/** The zero value is the same as no filter. */
const scannerNamed = (name: string): string => (name === "UNKNOWN" ? "" : name);

const noPieces = async function* (): AsyncGenerator<JsonObject[]> {};

const listReports = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, visiblePaths, services } = context;
  const [repoId, digest, tag] = [text(request, "repoId"), text(request, "digest"), text(request, "tag")];
  if (repoId === "" && digest === "") throw invalid([{ field: "repo_id", description: "repo_id or digest must be given" }]);
  // Skips the lookup for an invisible repo.
  if (digest === "" && !visiblePaths.some((path) => covers(path, repoId))) return ownWholeList(context, 0, noPieces());
  const digests = digest !== "" ? [digest] : tag !== "" ? await findTagImages(rows, repoId, tag) : undefined;
  const scanner = part(request, "scanner");
  const filter = {
    places: visiblePaths,
    repoUid: digest === "" ? repoId : "",
    digests,
    scanner: scannerNamed(text(scanner, "name")),
    version: text(scanner, "version"),
    databaseTime: text(scanner, "dbBuildTime"),
    createdSince: text(request, "createdSince"),
  };
  const { ids, total } = await findVulnReportIds(rows, filter, services.listMax);
  const pieces = async function* (): AsyncGenerator<JsonObject[]> {
    for (let from = 0; from < ids.length; from += limits.reportsRead) {
      const reports = await readVulnReports(rows, ids.slice(from, from + limits.reportsRead));
      const unjudged = await unjudgedOfDigests(context, reports.filter(isOwnReport));
      const own = new Map(reports.filter(isOwnReport).map(({ id }, index) => [id, unjudged[index] ?? []]));
      for (const report of reports) yield [withUnjudged(reportOf(report, await unpackFindings(report.findings)), own.get(report.id) ?? [])];
    }
  };
  return ownWholeList(context, total, pieces());
};

const getRaw = async ({ request, rows, visiblePaths }: ReadContext): Promise<Outcome> => {
  const digest = text(request, "digest");
  if (digest === "") throw invalid([{ field: "digest", description: "is required" }]);
  const asked = { places: visiblePaths, digest, scanner: scannerNamed(text(request, "scanner")), createTime: text(request, "createdAt") };
  const found = await findRawVulnReport(rows, asked);
  if (!found) throw missing("registry", "VulnReport", digest);
  return { reply: { ...headOf(found), rawReport: await unpackRawReport(found.raw) } };
};

export const vulnReport = resource({
  service: "chainguard.platform.registry.Vulnerabilities",
  message: "chainguard.platform.registry.VulnReport",
  methods: {
    ListVulnReports: { reads: listReports },
    GetRawVulnReport: { reads: getRaw },
    ListVulnCountReports: { reads: (context) => listCounts(context, false) },
    ListCumulativeVulnCountReports: { reads: (context) => listCounts(context, true) },
  },
});
