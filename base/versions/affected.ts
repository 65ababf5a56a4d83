// Whether a version of a package is affected, by an OSV record: the schema's own evaluation. Pure.
//
// A version is affected when the list of versions has it or any range holds it; several entries for one package all count. In
// a range the last event that the version has reached decides: introduced turns on, fixed turns off, last_affected turns off
// for what lies behind it; at one version fixed wins. Where a range has limits, the version must lie before one of them.
//
// Ranges of commits (GIT) say nothing of versions. What cannot be read is not guessed: it is "not judged", with the reason.

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

/** In the order in which they act at one and the same version. */
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

/** Go and Bitnami read forms of their own in SEMVER ranges. */
const ownSemver: ReadonlySet<string> = new Set(["Go", "Bitnami"]);

/** SEMVER ranges are in the order of SemVer whatever the ecosystem, with two exceptions. */
const comparisonOf = (type: string, ecosystem: string): Compare => {
  const order = type === "SEMVER" && !ownSemver.has(ecosystem) ? "npm" : ecosystem;
  return (one, other) => compareVersions(order, one, other);
};

/** "0" is below every version, where it is introduced. */
const isBeginning = ({ kind, version }: RangeEvent): boolean => kind === "introduced" && version === "0";

const judgeRange = (range: JsonObject, ecosystem: string, version: string): Verdict => {
  const type = text(range, "type");
  if (type !== "SEMVER" && type !== "ECOSYSTEM") return notJudged(`a range has the unknown type ${JSON.stringify(type.slice(0, 32))}`);
  const events = eventsOf(range);
  if (typeof events === "string") return notJudged(events);
  // All versions there are: this needs no order.
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

/** Versions that any order calls equal have it in common: their digits but 0, build metadata aside. */
const digitsOf = (version: string): string => (version.split("+", 1)[0] ?? "").replace(/[^1-9]+/g, "");

/** Some lists have thousands of versions, and reading one costs a hundred times what this look at its digits does. */
const lists = (versions: readonly string[], ecosystem: string, version: string): boolean => {
  if (versions.includes(version)) return true;
  const digits = digitsOf(version);
  return versions.some((each) => digitsOf(each) === digits && compareVersions(ecosystem, each, version) === 0);
};

/** Whether the text is the hash of a commit, by SHA-1 or SHA-256. */
export const isCommit = (text: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i.test(text);

/** Returns the commits that a range of commits names as affected. Which others lie between them only the repository knows. */
export const affectedCommits = (range: JsonObject): string[] => {
  if (text(range, "type") !== "GIT") return [];
  const events = objectsAt(range, "events");
  const fixed = new Set(events.map((event) => text(event, "fixed").toLowerCase()));
  return events
    .flatMap((event) => [text(event, "introduced").toLowerCase(), text(event, "last_affected").toLowerCase()])
    .filter((commit) => isCommit(commit) && !fixed.has(commit));
};

/** A version that is a commit is affected if the range names it. */
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

/** Affected in one is affected; safe is what is safe in all. */
const strongest = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.find(({ verdict }) => verdict === "affected") ?? verdicts.find(({ verdict }) => verdict === "not judged") ?? unaffected;

const nameKey = ({ ecosystem, name }: Package): string => packageNameKey(ecosystem.split(":")[0] ?? "", name);

const countEvents = (entries: readonly JsonObject[]): number =>
  entries.reduce((count, entry) => objectsAt(entry, "ranges").reduce((sum, range) => sum + objectsAt(range, "events").length, count), 0);

/** What an OSV record says of a version of a package. A record that does not name the package leaves it unaffected. */
export const judgeVersion = (record: JsonObject, named: Package, version: string): Verdict => {
  const entries = objectsAt(record, "affected").filter((entry) => {
    const of = part(entry, "package");
    const found = { ecosystem: text(of, "ecosystem"), name: text(of, "name") };
    return found.ecosystem === named.ecosystem && nameKey(found) === nameKey(named);
  });
  if (countEvents(entries) > limits.rangeEventsMax) return notJudged(`the ranges have more than ${limits.rangeEventsMax} events`);
  return strongest(entries.map((entry) => judgeEntry(entry, named.ecosystem, version)));
};
