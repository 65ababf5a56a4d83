// Evaluates whether an OSV record affects a version of a package, by the schema's own algorithm.
//
// A version is affected if the list of versions includes it or any range contains it; all entries for the package count. In a
// range the last event at or before the version decides: introduced affects, fixed does not, last_affected does not after it. At
// the same version, fixed wins. If a range has limits, the version must be below one of them.
//
// Commit ranges (GIT) match only commits that they name. Unreadable data gives "not judged" with the reason, never a guess.

import { isObject, type Json, type JsonObject, part, text, texts } from "../json.ts";
import { limits } from "../limits.ts";
import { compareVersions } from "./ecosystem.ts";
import { packageNameKey } from "./package-name.ts";

export type Verdict = { readonly verdict: "affected" | "unaffected" } | { readonly verdict: "not judged"; readonly reason: string };

export interface Package {
  /** As OSV names it, with its suffix: "Debian:12". */
  readonly ecosystem: string;
  readonly name: string;
}

type Compare = (one: string, other: string) => number | undefined;

const affected: Verdict = { verdict: "affected" };
const unaffected: Verdict = { verdict: "unaffected" };
const notJudged = (reason: string): Verdict => ({ verdict: "not judged", reason });

const kinds = ["introduced", "last_affected", "fixed", "limit"] as const;

interface RangeEvent {
  readonly kind: (typeof kinds)[number];
  readonly version: string;
}

const objectsAt = (value: JsonObject, key: string): JsonObject[] => {
  const found: Json | undefined = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

const eventsOf = (range: JsonObject): RangeEvent[] | string => {
  const events: RangeEvent[] = [];
  for (const event of objectsAt(range, "events")) {
    const found = kinds.flatMap((kind) => (typeof event[kind] === "string" ? [{ kind, version: text(event, kind) }] : []));
    if (found.length === 0 || found.length < Object.keys(event).length) return "a range has an event of no known kind";
    events.push(...found);
  }
  if (!events.some(({ kind }) => kind === "introduced")) return "a range has no event introduced";
  return events;
};

/** Go and Bitnami use their own forms in SEMVER ranges. */
const ownSemver: ReadonlySet<string> = new Set(["Go", "Bitnami"]);

/** SEMVER ranges use SemVer's order in every ecosystem, with two exceptions. */
const comparisonOf = (type: string, ecosystem: string): Compare => {
  const order = type === "SEMVER" && !ownSemver.has(ecosystem) ? "npm" : ecosystem;
  return (one, other) => compareVersions(order, one, other);
};

const isBeginning = ({ kind, version }: RangeEvent): boolean => kind === "introduced" && version === "0";

const judgeRange = (range: JsonObject, ecosystem: string, version: string): Verdict => {
  const type = text(range, "type");
  if (type !== "SEMVER" && type !== "ECOSYSTEM") return notJudged(`a range has the unknown type ${JSON.stringify(type.slice(0, 32))}`);
  const events = eventsOf(range);
  if (typeof events === "string") return notJudged(events);
  // The range contains every version; no order is needed.
  if (events.every(isBeginning)) return affected;
  const compare = comparisonOf(type, ecosystem);
  if (compare(version, version) === undefined)
    return notJudged(compare("1", "1") === undefined ? `${ecosystem} has no order of versions` : "the version is none in the ecosystem's order");
  let last: RangeEvent | undefined;
  let limited = false;
  let belowLimit = false;
  for (const event of events) {
    const atEvent = isBeginning(event) || event.version === "*" ? 1 : compare(version, event.version);
    if (event.kind === "limit") {
      limited = true;
      if (event.version === "*") belowLimit = true;
    } else if (event.version === "*") return notJudged("a range is bounded by *, which is not a version");
    if (atEvent === undefined) return notJudged("a range is bounded by an invalid version of the ecosystem");
    if (event.kind === "limit") belowLimit ||= atEvent < 0;
    else if ((event.kind === "last_affected" ? atEvent > 0 : atEvent >= 0) && (last === undefined || isBehind(event, last, compare))) last = event;
  }
  return last?.kind === "introduced" && (!limited || belowLimit) ? affected : unaffected;
};

const isBehind = (event: RangeEvent, other: RangeEvent, compare: Compare): boolean => {
  if (isBeginning(event) || isBeginning(other)) return !isBeginning(event);
  const order = compare(event.version, other.version) ?? 0;
  return order === 0 ? kinds.indexOf(event.kind) > kinds.indexOf(other.kind) : order > 0;
};

/** Returns what versions that any order calls equal have in common: their digits except 0, without build metadata. */
const digitsOf = (version: string): string => (version.split("+", 1)[0] ?? "").replace(/[^1-9]+/g, "");

/** Compares digits first: lists can have thousands of versions, and parsing one costs a hundred times as much. */
const lists = (versions: readonly string[], ecosystem: string, version: string): boolean => {
  if (versions.includes(version)) return true;
  const digits = digitsOf(version);
  return versions.some((each) => digitsOf(each) === digits && compareVersions(ecosystem, each, version) === 0);
};

/** Returns whether the text is a SHA-1 or SHA-256 commit hash. */
export const isCommit = (text: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i.test(text);

/** Returns the commits that a commit range names as affected. Only the repository knows those in between. */
export const affectedCommits = (range: JsonObject): string[] => {
  if (text(range, "type") !== "GIT") return [];
  const events = objectsAt(range, "events");
  const fixed = new Set(events.map((event) => text(event, "fixed").toLowerCase()));
  return events
    .flatMap((event) => [text(event, "introduced").toLowerCase(), text(event, "last_affected").toLowerCase()])
    .filter((commit) => isCommit(commit) && !fixed.has(commit));
};

const namesCommit = (range: JsonObject, version: string): boolean => isCommit(version) && affectedCommits(range).includes(version.toLowerCase());

const judgeEntry = (entry: JsonObject, ecosystem: string, version: string): Verdict => {
  const versions = texts(entry, "versions");
  if (lists(versions, ecosystem, version)) return affected;
  const ranges = objectsAt(entry, "ranges");
  if (ranges.some((range) => namesCommit(range, version))) return affected;
  const ofVersions = ranges.filter((range) => text(range, "type") !== "GIT");
  if (ofVersions.length === 0) return ranges.length > 0 && versions.length === 0 ? notJudged("commit ranges do not define versions") : unaffected;
  return strongest(ofVersions.map((range) => judgeRange(range, ecosystem, version)));
};

/** Returns "affected" if any verdict is; "unaffected" only if all are. */
const strongest = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.find(({ verdict }) => verdict === "affected") ?? verdicts.find(({ verdict }) => verdict === "not judged") ?? unaffected;

const nameKey = ({ ecosystem, name }: Package): string => packageNameKey(ecosystem.split(":")[0] ?? "", name);

const countEvents = (entries: readonly JsonObject[]): number =>
  entries.reduce((count, entry) => objectsAt(entry, "ranges").reduce((sum, range) => sum + objectsAt(range, "events").length, count), 0);

/** Evaluates an OSV record for a version of a package. A record that does not name the package gives "unaffected". */
export const judgeVersion = (record: JsonObject, named: Package, version: string): Verdict => {
  const entries = objectsAt(record, "affected").filter((entry) => {
    const of = part(entry, "package");
    const found = { ecosystem: text(of, "ecosystem"), name: text(of, "name") };
    return found.ecosystem === named.ecosystem && nameKey(found) === nameKey(named);
  });
  if (countEvents(entries) > limits.rangeEventsMax) return notJudged(`the ranges have more than ${limits.rangeEventsMax} events`);
  return strongest(entries.map((entry) => judgeEntry(entry, named.ecosystem, version)));
};
