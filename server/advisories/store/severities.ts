// Severities, joined at read time from all records of an advisory or its aliases, so that imports take effect at once (resources: Advisories).

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import type { Read } from "#db";
import { findSeverities, type SeverityRow } from "./vulnerabilities.ts";

export type KnownSeverities = ReadonlyMap<string, readonly SeverityRow[]>;

const severityList = (severities: string): JsonObject[] => {
  const list = JSON.parse(severities) as Json;
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** Returns the records of these IDs and their aliases, each once. */
export const severityRowsOf = (known: KnownSeverities, root: string, numbers: readonly string[]): SeverityRow[] => {
  const isVisible = ({ owner }: SeverityRow): boolean => owner === "" || rootOf(owner) === root;
  const byNumber = numbers.flatMap((number) => known.get(number) ?? []).filter(isVisible);
  const byAlias = byNumber
    .flatMap(({ aliases }) => aliases)
    .flatMap((number) => known.get(number) ?? [])
    .filter(isVisible);
  return [...new Set([...byNumber, ...byAlias])];
};

/** Returns the distinct severities of these IDs and their aliases. */
export const severitiesOf = (known: KnownSeverities, root: string, numbers: readonly string[]): JsonObject[] => {
  const found = new Map<string, JsonObject>();
  for (const { severities } of severityRowsOf(known, root, numbers)) {
    for (const { type, score } of severityList(severities)) {
      if (typeof type !== "string" || typeof score !== "string") continue;
      const key = `${type} ${score}`;
      if (!found.has(key)) found.set(key, type === "TYPE_UNSPECIFIED" ? { score } : { type, score });
    }
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, severity]) => severity);
};

export const readSeverities = async (rows: Read, roots: readonly string[], numbers: readonly string[]): Promise<KnownSeverities> => {
  const known = new Map<string, SeverityRow[]>();
  for (const row of await findSeverities(rows, [...new Set(roots)], [...new Set(numbers)])) {
    const records = known.get(row.id);
    if (records) records.push(row);
    else known.set(row.id, [row]);
  }
  return known;
};
