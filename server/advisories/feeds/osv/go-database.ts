// Go's vulnerability database for govulncheck (https://go.dev/doc/security/vuln/database): three indexes, and a file for each GO-
// record. GHSA duplicates without functions are only in OSV's archives.

import type { Reader } from "#advisories/store";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { compareVersions } from "#base/versions/ecosystem.ts";
import { modifiedRecords, recordTexts } from "./records.ts";

export const isGoNumber = (id: string): boolean => id.startsWith("GO-");

/** Adds `database_specific` with this URL if missing: govulncheck stops at a record without it, before it reports the others. */
export const withAddress = (content: string, address: string): string => {
  const record = JSON.parse(content) as Json;
  if (!isObject(record) || isObject(record.database_specific)) return content;
  return content.replace(/\}\s*$/, () => `,"database_specific":${JSON.stringify({ url: address })}}`);
};

export type GoIndexes = ReadonlyMap<string, string>;

const kinds = ["introduced", "fixed"] as const;

/** Returns the version from which none is affected; undefined if unclear, because clients skip records beyond it. */
export const lastFixed = (entries: readonly JsonObject[]): string | undefined => {
  let last: { kind: string; version: string } | undefined;
  for (const entry of entries) {
    const ranges = objectList(entry, "ranges");
    if (ranges.length === 0 || texts(entry, "versions").length > 0) return undefined;
    for (const range of ranges) {
      let end: { kind: string; version: string } | undefined;
      for (const event of objectList(range, "events")) {
        const kind = kinds.find((each) => text(event, each) !== "");
        if (kind === undefined || text(range, "type") !== "SEMVER") return undefined;
        const version = text(event, kind);
        const order = end === undefined ? 1 : compareVersions("Go", version, end.version);
        if (order === undefined) return undefined;
        if (order > 0 || (order === 0 && kind === "fixed")) end = { kind, version };
      }
      if (end?.kind !== "fixed") return undefined;
      const order = last === undefined ? 1 : compareVersions("Go", end.version, last.version);
      if (order === undefined) return undefined;
      if (order > 0) last = end;
    }
  }
  return last?.version;
};

interface ModuleEntry {
  readonly id: string;
  readonly modified: string;
  readonly fixed?: string;
}

const findLastChange = async (reader: Reader): Promise<string | undefined> => {
  for await (const page of modifiedRecords(reader, "Go")) {
    const last = page.find(({ id }) => isGoNumber(id));
    if (last) return last.modified;
  }
  return undefined;
};

/** In memory: some hundred bytes for each record and module. */
export const buildGoIndexes = async (reader: Reader): Promise<GoIndexes> => {
  const modules = new Map<string, ModuleEntry[]>();
  const records: { id: string; modified: string; aliases?: string[] }[] = [];
  let latest = "1970-01-01T00:00:00Z";
  for await (const page of recordTexts(reader, "Go")) {
    for (const { id, content } of page) {
      if (!isGoNumber(id)) continue;
      const record = JSON.parse(content) as Json;
      if (!isObject(record)) continue;
      const modified = text(record, "modified");
      if (Date.parse(modified) > Date.parse(latest)) latest = modified;
      const aliases = texts(record, "aliases");
      records.push({ id, modified, ...(aliases.length > 0 ? { aliases } : {}) });
      const entries = Map.groupBy(
        objectList(record, "affected").filter((entry) => text(part(entry, "package"), "ecosystem") === "Go"),
        (entry) => text(part(entry, "package"), "name"),
      );
      for (const [path, about] of entries) {
        const fixed = lastFixed(about);
        const known = modules.get(path) ?? [];
        known.push({ id, modified, ...(fixed === undefined ? {} : { fixed }) });
        modules.set(path, known);
      }
    }
  }
  // A withdrawal must change the time that clients compare.
  const lastChange = await findLastChange(reader);
  if (lastChange !== undefined && Date.parse(lastChange) > Date.parse(latest)) latest = lastChange;
  const paths = [...modules.keys()].sort();
  return new Map([
    ["db", JSON.stringify({ modified: latest })],
    ["modules", JSON.stringify(paths.map((path) => ({ path, vulns: modules.get(path) ?? [] })))],
    ["vulns", JSON.stringify(records)],
  ]);
};
