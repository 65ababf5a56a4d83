// What an answer shows besides its own row. Embedded summaries of others (requirement: role binding responses carry hydrated
// objects) are read once per kind and page, never once per row.

import { type Json, type JsonObject, text } from "#base/json.ts";
import { EVERYWHERE, parentOf } from "#base/uid.ts";
import { findRows, type Read } from "#store";
import type { BoundResource } from "./context.ts";

/** The uid of the other whose summary a record shows. */
const summarizedUid = (record: JsonObject, by: string): string => (by === "parent" ? parentOf(text(record, "uid")) : text(record, by));

/** The same records with their embedded summaries and computed fields, in the same order. */
export const hydrate = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (records.length === 0) return [];
  const summarized = await withSummaries(rows, resource, records);
  return resource.computedFields ? [...(await resource.computedFields.compute(rows, summarized))] : summarized;
};

/** The summary of what has no row is its uid alone. */
const withSummaries = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (resource.summaries.length === 0) return [...records];
  const sources = await Promise.all(
    resource.summaries.map(async ({ by, field, shape }) => {
      const uids = [...new Set(records.map((record) => summarizedUid(record, by)).filter((uid) => uid !== EVERYWHERE))];
      const found = await findRows(rows, shape.table, uids);
      const summaries = new Map<string, JsonObject>(found.map((row) => [row[0] ?? "", shape.read(row, 0)]));
      return { by, key: field.json, summaries };
    }),
  );
  return records.map((record) => {
    const added: Record<string, Json> = {};
    for (const { by, key, summaries } of sources) {
      const uid = summarizedUid(record, by);
      if (uid !== EVERYWHERE) added[key] = summaries.get(uid) ?? { uid };
    }
    return { ...record, ...added };
  });
};
