// Vulnerability counts of a tag per severity and day: by its image at the end of the day, and the latest report then. Without a new
// report a day has the previous day's counts. Pure.

import type { JsonObject } from "#base/json.ts";
import type { ReportSeverity } from "#advisories/feeds";
import type { TagHistoryEntry } from "#registry/store";
import type { VulnCountState } from "#advisories/store";
import { withUnjudged } from "./shown.ts";

export interface TagFacts {
  readonly repo: string;
  readonly tag: string;
  /** The images of the tag, earliest first. */
  readonly history: readonly TagHistoryEntry[];
  /** Each image's platform manifests. */
  readonly behind: ReadonlyMap<string, ReadonlySet<string>>;
  /** Reports on any of these manifests, earliest first. */
  readonly reports: readonly VulnCountState[];
  /** By image; 64-bit numbers as texts. */
  readonly sizeBytes: ReadonlyMap<string, string>;
  /** Coverage gaps of the tag's current image. */
  readonly unjudged: readonly JsonObject[];
}

const severities: readonly ReportSeverity[] = ["CRITICAL", "HIGH", "MEDIUM", "LOW", "NEGLIGIBLE", "UNKNOWN"];

const severityNames: readonly string[] = severities;
const rankOf = (severity: string): number => severityNames.indexOf(severity);

/** Returns the image at the end of a day; before the first entry, the first image. Undefined if the tag did not exist. */
const imageAt = (history: readonly TagHistoryEntry[], endOfDay: string): string | undefined => {
  const [first] = history;
  const last = history.findLast(({ updateTime }) => updateTime <= endOfDay);
  if (!last) return first?.digest;
  return last.endTime === "" || last.endTime > endOfDay ? last.digest : undefined;
};

/** Counts use one scanner: Grype, else Trivy, else this server's own matching. */
const scannerKey = ({ scanner, tool }: VulnCountState): string => (scanner === "UNKNOWN" ? tool : scanner);
const ownScanner = "gantry";
const scannerKeys: readonly string[] = ["GRYPE", "TRIVY", ownScanner];

type Severities = ReadonlyMap<string, string>;

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
  readonly isOwn: boolean;
}

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

/** Yields the days with known counts. `isCumulative`: include all earlier findings. */
export const countDays = function* (facts: TagFacts, days: readonly string[], isCumulative: boolean): Generator<JsonObject> {
  const { repo, tag, history, behind, reports, sizeBytes, unjudged } = facts;
  let before: Severities = new Map();
  let last: { readonly image: string; readonly reports: number; readonly counts: JsonObject } | undefined;
  for (const day of days) {
    const endOfDay = `${day}T23:59:59.999Z`;
    const image = imageAt(history, endOfDay);
    if (image === undefined) continue;
    const known = reports.findLastIndex(({ createTime }) => createTime <= endOfDay) + 1;
    // Most days equal the previous one.
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
