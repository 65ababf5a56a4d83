// Compares requests with the catalog (docs/decisions/0035): an available library is built, others can be requested. Gantry builds and
// scans nothing, so the contract's other states do not occur.

import type { JsonObject } from "#base/json.ts";
import { mavenKey } from "#base/versions/maven.ts";
import { pep440Key } from "#base/versions/pep440.ts";
import { type ComparedItem, countAvailability, findItemsToCompare, findWantedVersions, type ItemCoverage, updateItemCoverage } from "#libraries/store";
import type { Read, Write } from "#db";

export const availabilities = {
  built: "AVAILABILITY_BUILT",
  canBeRequested: "AVAILABILITY_CAN_BE_REQUESTED",
  invalid: "AVAILABILITY_INVALID_REQUIREMENT",
} as const;

export type LibraryEcosystem = "ECOSYSTEM_JAVA" | "ECOSYSTEM_PYTHON";

const sortKeys = { ECOSYSTEM_JAVA: mavenKey, ECOSYSTEM_PYTHON: pep440Key } as const;

/** Returns a key that sorts versions as their ecosystem does; equal versions have equal keys. */
export const versionKeyOf = (ecosystem: LibraryEcosystem, version: string): string => sortKeys[ecosystem](version);

type Wanted = Pick<ComparedItem, "uid" | "packageName" | "version" | "sortKey">;

const keyOf = (name: string, sortKey: string): string => JSON.stringify([name, sortKey]);

/** Returns the catalog's coverage of these libraries, in their order. */
export const coverageOf = async (rows: Read, ecosystem: LibraryEcosystem, wanted: readonly Wanted[]): Promise<ItemCoverage[]> => {
  if (wanted.length === 0) return [];
  const distinct = new Map(wanted.map(({ packageName, sortKey }) => [keyOf(packageName, sortKey), { name: packageName, sortKey }]));
  const found = new Map((await findWantedVersions(rows, ecosystem, [...distinct.values()])).map((version) => [keyOf(version.name, version.sortKey), version]));
  return wanted.map(({ uid, packageName, sortKey, version }) => {
    const known = found.get(keyOf(packageName, sortKey));
    const isNewest = known?.closestVersion === "";
    return {
      uid,
      availability: known?.isThere ? availabilities.built : availabilities.canBeRequested,
      availabilityReason: known?.isThere ? "" : `the catalogue does not have ${known ? `version ${version}` : "this library"}`,
      closestVersion: known?.closestVersion ?? "",
      // The newest version needs no upgrade.
      latestVersion: known?.isThere && isNewest ? "" : (known?.latestVersion ?? ""),
    };
  });
};

/** Compares a request group's items with the catalog. Returns the number of changed items. */
export const refreshItems = async (rows: Write, group: string, ecosystem: LibraryEcosystem, nowMs: number): Promise<number> => {
  const items = await findItemsToCompare(rows, group, availabilities.invalid);
  const before = new Map(items.map((item) => [item.uid, item]));
  const changed = (await coverageOf(rows, ecosystem, items)).filter(({ uid, availability, closestVersion, latestVersion }) => {
    const item = before.get(uid);
    return item?.availability !== availability || item.closestVersion !== closestVersion || item.latestVersion !== latestVersion;
  });
  if (changed.length > 0) await updateItemCoverage(rows, changed, nowMs);
  return changed.length;
};

export interface Summary {
  readonly message: JsonObject;
  readonly items: number;
  readonly built: number;
  /** Items that block submission. */
  readonly blocking: number;
}

export const summaryOf = async (rows: Read, group: string): Promise<Summary> => {
  const counts = await countAvailability(rows, group);
  const sum = (chosen: (one: { availability: string; removed: boolean }) => boolean): number =>
    counts.filter(chosen).reduce((total, { items }) => total + items, 0);
  const kept = (availability: string): number => sum((one) => !one.removed && one.availability === availability);
  const [built, invalid] = [kept(availabilities.built), kept(availabilities.invalid)];
  const message = {
    built,
    canBeRequested: kept(availabilities.canBeRequested),
    invalidRequirement: invalid,
    removed: sum(({ removed }) => removed),
    blockingSubmit: invalid,
  };
  return {
    message: Object.fromEntries(Object.entries(message).filter(([, count]) => count > 0)),
    items: sum(({ removed }) => !removed),
    built,
    blocking: invalid,
  };
};

/** Returns other versions in the catalog; undefined if none. */
export const upgradeOf = ({ closestVersion, latestVersion }: { readonly closestVersion: string; readonly latestVersion: string }): JsonObject | undefined =>
  closestVersion === "" && latestVersion === ""
    ? undefined
    : { ...(closestVersion === "" ? {} : { closestVersion }), ...(latestVersion === "" ? {} : { latestVersion }) };
