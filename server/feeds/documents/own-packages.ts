// Our own advisories by origin package, as documents about packages are made of them, and which of them contradict each
// other.

import { limits } from "#base/limits.ts";
import { type AdvisoryRow, findDocumentChanges, findOwnPublished, findOwnPublishedBehind } from "#store";
import { currentStatus, type Published, publishedOf, vulnerabilityNumbers } from "./advisory.ts";
import type { Reader } from "./reader.ts";

export interface OwnPackage {
  readonly origin: string;
  /** When something about it was last published, changed or taken back here. */
  readonly changeTime: string;
  readonly advisories: readonly [Published, ...Published[]];
  /** Those that say something else of a number than another one of the same package: readers would hear one of the two. */
  readonly contradicted: ReadonlySet<Published>;
}

/** What it says of versions, as a text. */
const verdictOf = (advisory: Published): string => {
  const { status, fixedVersions } = currentStatus(advisory);
  return JSON.stringify([status, fixedVersions]);
};

const findContradicted = (advisories: readonly Published[]): Set<Published> => {
  const byNumber = new Map<string, Published[]>();
  for (const advisory of advisories) {
    const { namespace, artifactType, artifactName } = advisory;
    for (const number of vulnerabilityNumbers(advisory)) {
      const named = JSON.stringify([namespace, artifactType, artifactName, number]);
      const known = byNumber.get(named);
      if (known) known.push(advisory);
      else byNumber.set(named, [advisory]);
    }
  }
  return new Set([...byNumber.values()].filter((named) => new Set(named.map(verdictOf)).size > 1).flat());
};

export const contradiction = "another advisory on the same package says something else under the same number";

const packageOf = (origin: string, rows: readonly AdvisoryRow[], changes: ReadonlyMap<string, string>): OwnPackage[] => {
  const [first, ...others] = rows
    .map((row) => publishedOf(row, []))
    .sort((one, other) => (`${one.advisoryId} ${one.uid}` < `${other.advisoryId} ${other.uid}` ? -1 : 1));
  if (!first) return [];
  const advisories: [Published, ...Published[]] = [first, ...others];
  return [{ origin, changeTime: changes.get(origin) ?? first.updateTime, advisories, contradicted: findContradicted(advisories) }];
};

/** All of them in the order of their names, a bounded number of advisories at a time. */
export async function* ownPackages({ read }: Reader): AsyncGenerator<OwnPackage[]> {
  for (let after = ""; ; ) {
    const rows = await findOwnPublishedBehind(read, after, limits.osvRecordsMax);
    const last = rows.at(-1);
    if (!last) return;
    const byOrigin = Map.groupBy(rows, ({ origin }) => origin);
    const changes = await findDocumentChanges(read, [...byOrigin.keys()]);
    yield [...byOrigin].flatMap(([origin, found]) => packageOf(origin, found, changes));
    after = last.origin;
  }
}

export const readOwnPackage = async ({ read }: Reader, origin: string): Promise<OwnPackage | undefined> => {
  const rows = await findOwnPublished(read, origin);
  const [found] = packageOf(origin, rows, await findDocumentChanges(read, [origin]));
  return found;
};
