// Adds data from other rows to a response. Embedded summaries (requirement: role binding responses carry hydrated objects) are read
// once per kind and page, never once per row.

import { type Json, type JsonObject, text } from "#base/json.ts";
import { EVERYWHERE, parentOf } from "#base/uid.ts";
import { findRows, type Read } from "#db";
import type { BoundResource } from "./context.ts";

const summarizedUid = (record: JsonObject, by: string): string => (by === "parent" ? parentOf(text(record, "uid")) : text(record, by));

/** Returns the records with summaries and computed fields, in the same order. */
export const hydrate = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (records.length === 0) return [];
  const summarized = await withSummaries(rows, resource, records);
  return resource.computedFields ? [...(await resource.computedFields.compute(rows, summarized))] : summarized;
};

/** The summary of a missing or invisible resource is its uid only. */
const withSummaries = async (rows: Read, resource: BoundResource, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  if (resource.summaries.length === 0) return [...records];
  const sources = await Promise.all(
    resource.summaries.map(async ({ by, field, shape, findSeen }) => {
      const named = records.map((record) => ({ place: text(record, "uid"), uid: summarizedUid(record, by) }));
      const uids = [...new Set(named.map(({ uid }) => uid).filter((uid) => uid !== EVERYWHERE))];
      const [found, isSeen] = await Promise.all([findRows(rows, shape.table, uids), findSeen?.(rows, named)]);
      const summaries = new Map<string, JsonObject>(found.map((row) => [row[0] ?? "", shape.read(row, 0)]));
      const summaryOf = (one: { readonly place: string; readonly uid: string }): JsonObject =>
        (isSeen?.(one) === false ? undefined : summaries.get(one.uid)) ?? { uid: one.uid };
      return { by, key: field.json, summaryOf };
    }),
  );
  return records.map((record) => {
    const added: Record<string, Json> = {};
    for (const { by, key, summaryOf } of sources) {
      const uid = summarizedUid(record, by);
      if (uid !== EVERYWHERE) added[key] = summaryOf({ place: text(record, "uid"), uid });
    }
    return { ...record, ...added };
  });
};
