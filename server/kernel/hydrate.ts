// What an answer shows besides its own row. Embedded briefs (requirement: role binding responses carry hydrated objects): one read per kind and page, never one
// per row.

import { type Json, type JsonObject, text } from "#base/json.ts";
import { EVERYWHERE, parentOf } from "#base/uid.ts";
import { findRows, type Read } from "#store";
import type { BoundResource } from "./resource.ts";

const uidOf = (record: JsonObject, by: string): string => (by === "parent" ? parentOf(text(record, "uid")) : text(record, by));

/** The same records with their briefs and whatever else they are filled with, in the same order. */
export const hydrate = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (records.length === 0) return [];
  const briefed = await withSummaries(rows, resource, records);
  return resource.fills ? [...(await resource.fills.fill(rows, briefed))] : briefed;
};

/** A brief whose row is not there shows its uid alone. */
const withSummaries = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (resource.summaries.length === 0) return [...records];
  const sources = await Promise.all(
    resource.summaries.map(async ({ by, field, shape }) => {
      const uids = [...new Set(records.map((record) => uidOf(record, by)).filter((uid) => uid !== EVERYWHERE))];
      const found = await findRows(rows, shape.table, uids);
      const briefs = new Map<string, JsonObject>(found.map((row) => [row[0] ?? "", shape.read(row, 0)]));
      return { by, key: field.json, briefs };
    }),
  );
  return records.map((record) => {
    const added: Record<string, Json> = {};
    for (const { by, key, briefs } of sources) {
      const uid = uidOf(record, by);
      if (uid !== EVERYWHERE) added[key] = briefs.get(uid) ?? { uid };
    }
    return { ...record, ...added };
  });
};
