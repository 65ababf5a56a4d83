// Table blob_places: the storage location of this database's blobs, and its sweeps. One row.

import { randomBytes } from "node:crypto";
import { timestamp } from "#base/time.ts";
import { columns, nullableTimeMs, type Read, type RowOf, text, timeMs, type Write } from "#db";

export type BlobPlaceRow = RowOf<typeof blobPlace>;

// Only columns of every version: a backup may read an older database.
const blobPlace = columns({
  storeId: text,
  /** Empty until the first content is stored. */
  placeId: text,
});
const leftovers = columns({ sinceMs: nullableTimeMs("leftover_since") });
const sweep = columns({ sinceMs: timeMs("leftover_since") });

export const findBlobPlace = (rows: Read): Promise<BlobPlaceRow | undefined> => blobPlace.findOne(rows, `select ${blobPlace.list} from blob_places`);

/** Returns since when servers have looked for leftovers without a long gap; undefined if never. */
export const findLeftoverSince = async (rows: Read): Promise<number | undefined> =>
  (await leftovers.findOne(rows, `select ${leftovers.list} from blob_places`))?.sinceMs;

export const ensureBlobPlace = async (rows: Write, nowMs: number): Promise<BlobPlaceRow> => {
  await rows.query("insert into blob_places (store_id, sweep_time) values ($1, $2) on conflict do nothing", [
    randomBytes(16).toString("hex"),
    timestamp(nowMs),
  ]);
  const row = await findBlobPlace(rows);
  if (!row) throw new Error("blob_places has no row");
  return row;
};

/** Keeps an existing location; returns the one in effect. */
export const writeBlobPlace = async (rows: Write, placeId: string): Promise<string> => {
  await rows.query("update blob_places set place_id = $1 where place_id = ''", [placeId]);
  return (await findBlobPlace(rows))?.placeId ?? "";
};

/** Returns true to one server per interval. */
export const takeBlobSweep = async (rows: Write, nowMs: number, everyMs: number): Promise<boolean> =>
  (await rows.query("update blob_places set sweep_time = $1 where sweep_time <= $2 returning 1", [timestamp(nowMs), timestamp(nowMs - everyMs)])).length > 0;

/** Like findLeftoverSince, for one server per interval; undefined for others. A gap of three intervals restarts the time. */
export const takeLeftoverSweep = async (rows: Write, nowMs: number, everyMs: number): Promise<number | undefined> => {
  const found = await sweep.findOne(
    rows,
    `update blob_places set leftover_since = case when leftover_time < $3 then $1::timestamptz else coalesce(leftover_since, $1) end, leftover_time = $1
     where leftover_time <= $2 returning ${sweep.list}`,
    [timestamp(nowMs), timestamp(nowMs - everyMs), timestamp(nowMs - 3 * everyMs)],
  );
  return found?.sinceMs;
};
