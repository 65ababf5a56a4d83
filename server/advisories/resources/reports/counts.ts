// How many vulnerabilities of which severity a tag had, day by day: what it pointed to at the end of the day, and the latest report
// on that until then. A day without a new report has the counts of the day before it. Pure.

import type { JsonObject } from "#base/json.ts";
import type { ReportSeverity } from "#advisories/feeds";
import type { TagHistoryEntry } from "#registry/store";
import type { VulnCountState } from "#advisories/store";
import { withUnjudged } from "./shown.ts";

/** What is known of a tag. */
export interface TagFacts {
  readonly repo: string;
  readonly tag: string;
  /** What it pointed to, the earliest first. */
  readonly history: readonly TagHistoryEntry[];
  /** Each of these images with the platforms' manifests behind it. */
  readonly behind: ReadonlyMap<string, ReadonlySet<string>>;
  /** Reports on any of them, the earliest first. */
  readonly reports: readonly VulnCountState[];
  /** Of each of these images; 64-bit numbers as texts. */
  readonly sizeBytes: ReadonlyMap<string, string>;
  /** What no source judges in the image that the tag has now. */
  readonly unjudged: readonly JsonObject[];
}

const severities: readonly ReportSeverity[] = ["CRITICAL", "HIGH", "MEDIUM", "LOW", "NEGLIGIBLE", "UNKNOWN"];

const severityNames: readonly string[] = severities;
const rankOf = (severity: string): number => severityNames.indexOf(severity);

/** The image at the end of a day; before anything is known of the tag, the first that is known. Undefined where the tag was gone. */
const imageAt = (history: readonly TagHistoryEntry[], endOfDay: string): string | undefined => {
  const [first] = history;
  const last = history.findLast(({ updateTime }) => updateTime <= endOfDay);
  if (!last) return first?.digest;
  return last.endTime === "" || last.endTime > endOfDay ? last.digest : undefined;
};

/** Counts come from one scanner: Grype, else Trivy, else this server itself. */
const scannerKey = ({ scanner, tool }: VulnCountState): string => (scanner === "UNKNOWN" ? tool : scanner);
const ownScanner = "gantry";
const scannerKeys: readonly string[] = ["GRYPE", "TRIVY", ownScanner];

type Severities = ReadonlyMap<string, string>;

/** The severity of each vulnerability; of several images, and of one vulnerability in several packages, the worst. */
const unite = (all: readonly Iterable<readonly [id: string, severity: string]>[]): Severities => {
  const found = new Map<string, string>();
  for (const each of all) {
    for (const [id, severity] of each) {
      const known = found.get(id);
      if (known === undefined || rankOf(severity) < rankOf(known)) found.set(id, severity);
    }
  }
  return found;
};

interface DayState {
  readonly found: Severities;
  /** By the server's own matching. */
  readonly isOwn: boolean;
}

/** What was known at the end of a day; undefined where there was no report yet. */
const severitiesAt = (images: ReadonlySet<string>, reports: readonly VulnCountState[], endOfDay: string): DayState | undefined => {
  const until = reports.filter(({ digest, createTime }) => images.has(digest) && createTime <= endOfDay);
  const scanner = scannerKeys.find((key) => until.some((report) => scannerKey(report) === key));
  if (scanner === undefined) return undefined;
  const latest = new Map(until.filter((report) => scannerKey(report) === scanner).map((report) => [report.digest, report]));
  return { found: unite([...latest.values()].map((report) => Object.entries(report.severities))), isOwn: scanner === ownScanner };
};

const countsOf = (found: Severities): JsonObject => {
  const ids = (severity: ReportSeverity): string[] => [...found].flatMap(([id, each]) => (each === severity ? [id] : [])).sort();
  const listed: JsonObject = {
    cveIds: [...found.keys()].sort(),
    lowCveIds: ids("LOW"),
    medCveIds: ids("MEDIUM"),
    highCveIds: ids("HIGH"),
    critCveIds: ids("CRITICAL"),
    negligibleCveIds: ids("NEGLIGIBLE"),
    unknownCveIds: ids("UNKNOWN"),
  };
  const filled = Object.entries(listed).filter(([, list]) => Array.isArray(list) && list.length > 0);
  return { vulnCounts: severities.map((severity) => ({ severity, count: ids(severity).length })), ...Object.fromEntries(filled) };
};

/** The days on which something is known of a tag. `isCumulative`: of each day all that was found from the first one up to it. */
export const countDays = function* (facts: TagFacts, days: readonly string[], isCumulative: boolean): Generator<JsonObject> {
  const { repo, tag, history, behind, reports, sizeBytes, unjudged } = facts;
  let before: Severities = new Map();
  let last: { readonly image: string; readonly reports: number; readonly counts: JsonObject } | undefined;
  for (const day of days) {
    const endOfDay = `${day}T23:59:59.999Z`;
    const image = imageAt(history, endOfDay);
    if (image === undefined) continue;
    const known = reports.findLastIndex(({ createTime }) => createTime <= endOfDay) + 1;
    // Most days are like the one before.
    if (last?.image !== image || last.reports !== known) {
      const state = severitiesAt(behind.get(image) ?? new Set(), reports, endOfDay);
      if (!state) continue;
      before = isCumulative ? unite([before, state.found]) : state.found;
      last = { image, reports: known, counts: withUnjudged(countsOf(before), state.isOwn ? unjudged : []) };
    }
    const size = sizeBytes.get(image);
    yield { repo, tag, date: `${day}T00:00:00.000Z`, ...last.counts, ...(size === undefined ? {} : { sizeBytes: size }) };
  }
};
