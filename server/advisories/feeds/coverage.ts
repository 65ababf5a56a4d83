// Coverage of sources (docs/decisions/0074): maps packages to an ecosystem and release, and finds the sources that cover these
// for a group, with their freshness. An unknown ecosystem counts as not covered.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, covers } from "#base/uid.ts";
import { type CoveringFeed, findCoveringFeeds } from "#advisories/store";
import type { Read } from "#db";
import { coversRelease, isDistribution, isDistributionType } from "./formats/distribution.ts";
import { artifactTypeOf, isLanguageEcosystem, languageEcosystems } from "./formats/osv.ts";
import type { InstalledPackage } from "./judge-package.ts";

/** An ecosystem, with the release for a distribution: "Debian" and "12". */
export interface Ecosystem {
  readonly ecosystem: string;
  /** "" if the ecosystem has no releases or the release is unknown. */
  readonly release: string;
}

/** Returns a key as stored in image_coverage: "Debian:12". */
export const ecosystemKey = ({ ecosystem, release }: Ecosystem): string => (release === "" ? ecosystem : `${ecosystem}:${release}`);

export const ecosystemOfKey = (key: string): Ecosystem => {
  const [ecosystem = "", release = ""] = key.split(":");
  return { ecosystem, release };
};

const unnamedApk = "apk";

/** Replaces ecosystems beyond limits.imageEcosystemsMax. No source covers it. */
const otherEcosystem = "other";

/** How many parts of a version identify a release: for Alpine 3.18.4, two. */
const releaseParts: ReadonlyMap<string, number> = new Map([
  ["Alpine", 2],
  ["Debian", 1],
  ["AlmaLinux", 1],
  ["Rocky Linux", 1],
]);

const shortRelease = (family: string, release: string): string => {
  const parts = releaseParts.get(family);
  return parts === undefined ? release : release.split(".").slice(0, parts).join(".");
};

/** SBOMs are untrusted. */
const wordOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, "-")
    .slice(0, 60);

/** Returns the ecosystem of a package; for an unknown distribution "deb/kali". */
export const imageEcosystemOf = ({ type, distribution, os }: InstalledPackage): Ecosystem => {
  if (!isDistributionType(type)) return { ecosystem: languageEcosystems.get(type) ?? wordOf(type), release: "" };
  if (os !== undefined && os.family !== "") return { ecosystem: os.family, release: shortRelease(os.family, os.release) };
  if (type === "apk" && distribution === "") return { ecosystem: unnamedApk, release: "" };
  return { ecosystem: distribution === "" ? type : `${type}/${wordOf(distribution)}`, release: wordOf(os?.release ?? "") };
};

/** Merges ecosystems of one SBOM beyond the limit into "other". */
export const boundedEcosystems = (keys: readonly string[]): readonly string[] =>
  keys.length <= limits.imageEcosystemsMax ? keys : [...keys.slice(0, limits.imageEcosystemsMax - 1), otherEcosystem];

const isUnsupported = (ecosystem: string): boolean => /^(?:apk\/|deb(?:\/|$)|rpm(?:\/|$))/.test(ecosystem);

/** OSV ecosystems: records of these without a release apply to apk packages without a distribution. */
const apkEcosystems = [unnamedApk, "Wolfi", "Chainguard", "Alpine", "MinimOS", "Alpaquita", "BellSoft Hardened Containers"];

const judges = (named: string, { ecosystem, release }: Ecosystem): boolean => {
  if (isUnsupported(ecosystem)) return false;
  if (isDistribution(ecosystem)) return coversRelease(named, { family: ecosystem, release });
  if (named.includes(":")) return false;
  if (ecosystem === unnamedApk) return apkEcosystems.includes(named);
  // Images are matched by type alone: the type "debian" is not the ecosystem "Debian".
  return artifactTypeOf(named) === (isLanguageEcosystem(ecosystem) ? artifactTypeOf(ecosystem) : ecosystem);
};

export type CoverageState = "MATCHED" | "NO_SOURCE" | "STALE" | "OS_UNSUPPORTED";

export interface CoverageSource {
  /** The feed's uid in the API; "" for a source of another organization. */
  readonly feedUid: string;
  readonly sourceName: string;
  readonly state: "MATCHED" | "NO_SOURCE" | "STALE";
  readonly successMs: number | undefined;
  readonly changeMs: number | undefined;
  /** When the source becomes stale without another success; undefined if it has never succeeded. */
  readonly staleMs: number | undefined;
  /** When the source stopped publishing the release. */
  readonly endMs: number | undefined;
}

export interface Coverage {
  readonly state: CoverageState;
  readonly sources: readonly CoverageSource[];
}

export type CoverageOf = (group: string, ecosystem: Ecosystem) => Coverage;

export interface CoverageQuery {
  readonly groups: readonly string[];
  readonly ecosystems: readonly Ecosystem[];
  readonly nowMs: number;
  /** For sources without their own bound. */
  readonly staleAfterMs: number;
}

const latest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.max(one, other);

/** A source covers the ecosystem until all matching ecosystems have ended. */
const toCoverageSource = (feed: CoveringFeed, endMs: number | undefined, group: string, { nowMs, staleAfterMs }: CoverageQuery): CoverageSource => {
  const { id, successMs, changeMs, sourceName } = feed;
  const staleMs = successMs === undefined ? undefined : successMs + (feed.staleAfterMs > 0 ? feed.staleAfterMs : staleAfterMs);
  const state = endMs !== undefined ? "NO_SOURCE" : staleMs === undefined || staleMs < nowMs ? "STALE" : "MATCHED";
  // The same format as the generated column of feeds.
  const feedUid = covers(feed.group, group) ? `${feed.group}/${Number(id).toString(16).padStart(16, "0")}` : "";
  return { feedUid, sourceName, state, successMs, changeMs, staleMs, endMs };
};

const stateOf = (ecosystem: Ecosystem, sources: readonly CoverageSource[]): CoverageState => {
  if (isUnsupported(ecosystem.ecosystem)) return "OS_UNSUPPORTED";
  if (sources.some(({ state }) => state === "MATCHED")) return "MATCHED";
  return sources.some(({ state }) => state === "STALE") ? "STALE" : "NO_SOURCE";
};

/** Reads the coverage from sources of these groups and their ancestors, and from sources of any group with public records. */
export const readCoverage = async (rows: Read, query: CoverageQuery): Promise<CoverageOf> => {
  const groups = [...new Set(query.groups.flatMap(ancestry))];
  const named = new Set(query.ecosystems.flatMap(({ ecosystem }) => (ecosystem === unnamedApk ? apkEcosystems : [ecosystem])));
  const found = groups.length === 0 || named.size === 0 ? [] : await findCoveringFeeds(rows, groups, [...named]);
  const judging = new Map<string, CoveringFeed[]>();
  for (const ecosystem of query.ecosystems) {
    const key = ecosystemKey(ecosystem);
    if (!judging.has(key))
      judging.set(
        key,
        found.filter((each) => judges(each.ecosystem, ecosystem)),
      );
  }
  return (group, ecosystem) => {
    const own = new Map<string, { readonly feed: CoveringFeed; readonly endMs: number | undefined }>();
    for (const feed of judging.get(ecosystemKey(ecosystem)) ?? []) {
      if (!feed.public && !covers(feed.group, group)) continue;
      const known = own.get(feed.id);
      const endMs = known && (known.endMs === undefined || feed.endMs === undefined) ? undefined : latest(known?.endMs, feed.endMs);
      own.set(feed.id, { feed, endMs });
    }
    const sources = [...own.values()].map(({ feed, endMs }) => toCoverageSource(feed, endMs, group, query));
    return { state: stateOf(ecosystem, sources), sources };
  };
};

export const optionalTime = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : timestamp(ms));

export const latestTime = (times: readonly (number | undefined)[]): number | undefined => times.reduce(latest, undefined);
