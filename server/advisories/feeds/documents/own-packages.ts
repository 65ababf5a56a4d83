// Our advisories by origin package, with contradictions between them.

import { limits } from "#base/limits.ts";
import { parentOf } from "#base/uid.ts";
import {
  type AdvisoryRow,
  findDocumentChanges,
  findOwnPrivate,
  findOwnPublished,
  findOwnPublishedBehind,
  ownPrivateNames,
  type Reader,
} from "#advisories/store";
import { currentStatus, latestTime, type Published, publishedOf, vulnerabilityNumbers } from "./advisory.ts";
import { scopeOf } from "./scope.ts";

export interface OwnPackage {
  readonly origin: string;
  /** The last publication, change or withdrawal on this server. */
  readonly changeTime: string;
  readonly advisories: readonly [Published, ...Published[]];
  /** "" if public; otherwise an ID for the groups with private advisories on it, withdrawn ones included. */
  readonly scope: string;
  /** Advisories that contradict another one with the same ID on the same package. */
  readonly contradicted: ReadonlySet<Published>;
}

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

export const contradiction = "another advisory with the same ID on the same package differs";

/** `rows` are public and not withdrawn; `privateRows` are private, withdrawn or not. */
const packageOf = (origin: string, rows: readonly AdvisoryRow[], privateRows: readonly AdvisoryRow[], changes: ReadonlyMap<string, string>): OwnPackage[] => {
  const [first, ...others] = [...rows, ...privateRows.filter(({ deleteTime }) => deleteTime === undefined)]
    .map((row) => publishedOf(row, []))
    .sort((one, other) => (`${one.advisoryId} ${one.uid}` < `${other.advisoryId} ${other.uid}` ? -1 : 1));
  if (!first) return [];
  const advisories: [Published, ...Published[]] = [first, ...others];
  const changeTime = [changes.get(origin) ?? "", latestTime(privateRows)].reduce((last, time) => (time > last ? time : last));
  return [
    {
      origin,
      changeTime: changeTime || first.updateTime,
      advisories,
      scope: scopeOf(privateRows.map(({ uid }) => parentOf(uid))),
      contradicted: findContradicted(advisories),
    },
  ];
};

const packagesOf = async (reader: Reader, origins: readonly string[], publicRows: ReadonlyMap<string, readonly AdvisoryRow[]>): Promise<OwnPackage[]> => {
  const changes = await findDocumentChanges(reader.read, origins);
  const privateRows = Map.groupBy(await findOwnPrivate(reader, origins), ({ origin }) => origin);
  return origins.flatMap((origin) => packageOf(origin, publicRows.get(origin) ?? [], privateRows.get(origin) ?? [], changes));
};

/** Yields all packages by name, in batches: first those with public advisories. */
export async function* ownPackages(reader: Reader): AsyncGenerator<OwnPackage[]> {
  const seen = new Set<string>();
  for (let after = ""; ; ) {
    const rows = await findOwnPublishedBehind(reader.read, after, limits.osvRecordsMax);
    const last = rows.at(-1);
    if (!last) break;
    const byOrigin = Map.groupBy(rows, ({ origin }) => origin);
    yield await packagesOf(reader, [...byOrigin.keys()], byOrigin);
    if (reader.visibility !== "public") for (const origin of byOrigin.keys()) seen.add(origin);
    after = last.origin;
  }
  for await (const origins of ownPrivateNames(reader, "origin", limits.osvRecordsMax)) {
    const unseen = origins.filter((origin) => !seen.has(origin));
    if (unseen.length > 0) yield await packagesOf(reader, unseen, new Map());
  }
}

export const readOwnPackage = async (reader: Reader, origin: string): Promise<OwnPackage | undefined> => {
  const [found] = await packagesOf(reader, [origin], new Map([[origin, await findOwnPublished(reader.read, origin)]]));
  return found;
};
