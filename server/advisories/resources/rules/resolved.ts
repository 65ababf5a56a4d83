// Computes the vulnerabilities resolved in images, per day of the fix. Pure.

import { compareBytes } from "#base/versions/sort-key.ts";
import { compareApk } from "#base/versions/apk.ts";
import { part, text } from "#base/json.ts";
import type { AdvisoryRow } from "#advisories/store";
import { approvedEvents } from "./document.ts";

export interface Resolved {
  /** "2026-01-31" */
  readonly day: string;
  /** The latest announcement on that day of a fix that the images have. */
  readonly time: string;
  /** The CVE ID, or else the advisory's; `aliases` has the others. */
  readonly id: string;
  readonly aliases: readonly string[];
  readonly advisory: AdvisoryRow;
}

export type PackageVersions = Readonly<Record<string, readonly string[]>>;

const reported = /^apk\/(?:wolfi|chainguard)\/([^/]+)$/;

/** Returns the packages that reports cover, by their names in advisories: SBOMs use package URLs, lists of images plain names. */
export const reportedPackages = (packages: PackageVersions): PackageVersions => {
  const found = new Map<string, readonly string[]>();
  for (const [label, versions] of Object.entries(packages)) {
    const purl = label.startsWith("pkg:") ? URL.parse(label) : undefined;
    const [, name] = reported.exec(purl?.pathname ?? "") ?? [];
    const names = purl === undefined ? [label] : name === undefined ? [] : [decodeURIComponent(name), purl?.searchParams.get("upstream") ?? ""];
    for (const each of new Set(names)) if (each !== "") found.set(each, [...(found.get(each) ?? []), ...versions]);
  }
  return Object.fromEntries(found);
};

/** Returns package versions in the images, by the package's name and its origin's. */
export const versionsByName = (images: readonly PackageVersions[], origins: ReadonlyMap<string, string>): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>();
  const add = (name: string, version: string): void => {
    const known = found.get(name);
    if (known) known.add(version);
    else found.set(name, new Set([version]));
  };
  for (const packages of images) {
    for (const [name, versions] of Object.entries(packages)) {
      const origin = origins.get(name);
      for (const version of versions) {
        add(name, version);
        if (origin !== undefined && origin !== name) add(origin, version);
      }
    }
  }
  return found;
};

const vulnerabilityNumbers = ({ advisoryId, aliases }: AdvisoryRow): [string, ...string[]] => {
  const all = [...new Set([...aliases, advisoryId])];
  const first = all.find((number) => number.startsWith("CVE-")) ?? all[0] ?? advisoryId;
  return [first, ...all.filter((number) => number !== first)];
};

/** When images stopped being affected, by advisory uid; only known times. */
export type LeftTimes = ReadonlyMap<string, string>;

const addResolved = (found: Map<string, Resolved>, advisory: AdvisoryRow, time: string): void => {
  const [id, ...aliases] = vulnerabilityNumbers(advisory);
  const day = time.slice(0, 10);
  const key = `${day} ${id}`;
  const earlier = found.get(key);
  const all = [...new Set([...(earlier?.aliases ?? []), ...aliases])].sort(compareBytes);
  found.set(key, { day, time: earlier && earlier.time > time ? earlier.time : time, id, aliases: all, advisory: earlier?.advisory ?? advisory });
};

/** Adds the fixes in these images within the days; at the time they arrived, if known. */
const addImages = (
  found: Map<string, Resolved>,
  advisories: readonly AdvisoryRow[],
  versions: ReadonlyMap<string, ReadonlySet<string>>,
  left: LeftTimes,
  [firstDay, lastDay]: readonly [string, string],
): void => {
  for (const advisory of advisories) {
    const leftTime = left.get(advisory.uid);
    if (leftTime !== undefined) {
      if (leftTime.slice(0, 10) >= firstDay && leftTime.slice(0, 10) <= lastDay) addResolved(found, advisory, leftTime);
      continue;
    }
    const inImages = versions.get(advisory.artifactName);
    if (!inImages) continue;
    for (const event of approvedEvents(advisory.events)) {
      const time = text(event, "createTime");
      const day = time.slice(0, 10);
      const fixedVersion = text(part(event, "fixed"), "fixedVersion");
      if (fixedVersion === "" || day < firstDay || day > lastDay) continue;
      if (![...inImages].some((version) => (compareApk(version, fixedVersion) ?? -1) >= 0)) continue;
      addResolved(found, advisory, time);
    }
  }
};

/** Images with the same known times. */
export interface ImageSet {
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
  readonly left: LeftTimes;
}

/** Returns the vulnerabilities resolved in the images within the days. */
export const resolvedIn = (advisories: readonly AdvisoryRow[], images: readonly ImageSet[], firstDay: string, lastDay: string): Resolved[] => {
  const found = new Map<string, Resolved>();
  for (const { versions, left } of images) addImages(found, advisories, versions, left, [firstDay, lastDay]);
  return [...found].sort(([one], [other]) => compareBytes(one, other)).map(([, resolved]) => resolved);
};
