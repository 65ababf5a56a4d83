// Coverage of sources (docs/decisions/0074): which ecosystem and release a package of an image belongs to, which sources judge it for a
// group, and whether they are up to date. What is not known counts as not judged.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, covers } from "#base/uid.ts";
import { type CoveringFeed, findCoveringFeeds, type Read } from "#store";
import { coversRelease, isDistribution, isDistributionType } from "./formats/distribution.ts";
import { artifactTypeOf, languageEcosystems } from "./formats/osv.ts";
import type { InstalledPackage } from "./judge-package.ts";

// ---- ecosystems of packages -------------------------------------------------------------------------------------

/** An ecosystem, and of a distribution the release: "Debian" and "12". */
export interface Ecosystem {
  readonly ecosystem: string;
  /** "" if there are none, or if it is unknown. */
  readonly release: string;
}

/** "Debian:12", as image_coverage holds it. */
export const ecosystemKey = ({ ecosystem, release }: Ecosystem): string => (release === "" ? ecosystem : `${ecosystem}:${release}`);

export const ecosystemOfKey = (key: string): Ecosystem => {
  const [ecosystem = "", release = ""] = key.split(":");
  return { ecosystem, release };
};

/** Packages of apk that name no distribution, as apko writes them. */
const unnamedApk = "apk";

/** What the ecosystems of an image beyond limits.imageEcosystemsMax are called: no source judges them. */
const otherEcosystem = "other";

const languageNames: ReadonlySet<string> = new Set(languageEcosystems.values());

/** How many numbers of a release tell releases apart, where records name no more: of Alpine 3.18.4 two. */
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

/** SBOMs are written by others: an ecosystem is a short word. */
const wordOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, "-")
    .slice(0, 60);

/** Returns the ecosystem of a package. That of an unknown distribution is its type and name: "deb/kali". */
export const imageEcosystemOf = ({ type, distribution, os }: InstalledPackage): Ecosystem => {
  if (!isDistributionType(type)) return { ecosystem: languageEcosystems.get(type) ?? wordOf(type), release: "" };
  if (os !== undefined && os.family !== "") return { ecosystem: os.family, release: shortRelease(os.family, os.release) };
  if (type === "apk" && distribution === "") return { ecosystem: unnamedApk, release: "" };
  return { ecosystem: distribution === "" ? type : `${type}/${wordOf(distribution)}`, release: wordOf(os?.release ?? "") };
};

/** Bounds what an SBOM can name: the further ecosystems of an image become one. */
export const boundedEcosystems = (keys: readonly string[]): readonly string[] =>
  keys.length <= limits.imageEcosystemsMax ? keys : [...keys.slice(0, limits.imageEcosystemsMax - 1), otherEcosystem];

/** Whether it is of a distribution that no records are matched with, or of none that is known. */
const isUnsupported = (ecosystem: string): boolean => /^(?:apk\/|deb(?:\/|$)|rpm(?:\/|$))/.test(ecosystem);

/** Ecosystems of OSV's whose records without a release judge packages of apk that name no distribution. */
const apkEcosystems = [unnamedApk, "Wolfi", "Chainguard", "Alpine", "MinimOS", "Alpaquita", "BellSoft Hardened Containers"];

/** Whether records of the source's ecosystem judge packages of this one. */
const judges = (named: string, { ecosystem, release }: Ecosystem): boolean => {
  if (isUnsupported(ecosystem)) return false;
  if (isDistribution(ecosystem)) return coversRelease(named, { family: ecosystem, release });
  if (named.includes(":")) return false;
  if (ecosystem === unnamedApk) return apkEcosystems.includes(named);
  // "debian" as a type of package URLs is not what records call "Debian": images are matched by the type alone.
  return artifactTypeOf(named) === (languageNames.has(ecosystem) ? artifactTypeOf(ecosystem) : ecosystem);
};

// ---- sources ----------------------------------------------------------------------------------------------------

export type CoverageState = "MATCHED" | "NO_SOURCE" | "STALE" | "OS_UNSUPPORTED";

/** A source that judges an ecosystem for a group. */
export interface CoverageSource {
  /** As the API names it; "" for a source of another organization. */
  readonly feedUid: string;
  readonly sourceName: string;
  readonly state: "MATCHED" | "NO_SOURCE" | "STALE";
  readonly successMs: number | undefined;
  readonly changeMs: number | undefined;
  /** From when on it is stale unless it succeeds before; undefined without any success. */
  readonly staleMs: number | undefined;
  /** Since when the source has no file of the release. */
  readonly endMs: number | undefined;
}

/** What is known of an ecosystem for a group. */
export interface Coverage {
  readonly state: CoverageState;
  readonly sources: readonly CoverageSource[];
}

/** Returns the coverage of a group's ecosystem. */
export type CoverageOf = (group: string, ecosystem: Ecosystem) => Coverage;

export interface CoverageQuery {
  readonly groups: readonly string[];
  readonly ecosystems: readonly Ecosystem[];
  readonly nowMs: number;
  /** Of sources without a bound of their own. */
  readonly staleAfterMs: number;
}

const latest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.max(one, other);

/** One source by all of its ecosystems that judge this one: it judges it while any of them has not ended. */
const toCoverageSource = (feed: CoveringFeed, endMs: number | undefined, group: string, { nowMs, staleAfterMs }: CoverageQuery): CoverageSource => {
  const { id, successMs, changeMs, sourceName } = feed;
  const staleMs = successMs === undefined ? undefined : successMs + (feed.staleAfterMs > 0 ? feed.staleAfterMs : staleAfterMs);
  const state = endMs !== undefined ? "NO_SOURCE" : staleMs === undefined || staleMs < nowMs ? "STALE" : "MATCHED";
  // As the generated column of feeds has it.
  const feedUid = covers(feed.group, group) ? `${feed.group}/${Number(id).toString(16).padStart(16, "0")}` : "";
  return { feedUid, sourceName, state, successMs, changeMs, staleMs, endMs };
};

const stateOf = (ecosystem: Ecosystem, sources: readonly CoverageSource[]): CoverageState => {
  if (isUnsupported(ecosystem.ecosystem)) return "OS_UNSUPPORTED";
  if (sources.some(({ state }) => state === "MATCHED")) return "MATCHED";
  return sources.some(({ state }) => state === "STALE") ? "STALE" : "NO_SOURCE";
};

/**
 * Reads the sources of these groups: their own, those of the groups above, and those of whichever group whose records are
 * everybody's.
 */
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

/** RFC 3339; undefined for no time. */
export const optionalTime = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : timestamp(ms));

export const latestTime = (times: readonly (number | undefined)[]): number | undefined => times.reduce(latest, undefined);
