// Table feed_files: digest and records of each part of a source's files. Unchanged files are skipped; records in no
// file are withdrawn. Rows are written with their records, so that an interrupted import resumes.

import { columns, expression, number, type Read, text, type Write } from "#db";

export interface FeedPart {
  readonly name: string;
  readonly part: number;
  /** Empty forces a new read. */
  readonly digest: string;
  /** Keys (recordKey). */
  readonly records: readonly string[];
}

export interface KnownPart {
  readonly digest: string;
  readonly records: number;
}

export type KnownParts = ReadonlyMap<string, KnownPart>;

export const partKey = (name: string, part: number): string => `${name}\n${part}`;

const known = columns({ name: text, part: number, digest: text, records: expression("cardinality(records)", number) });

export const findFeedParts = async (rows: Read, feed: string, names: readonly string[]): Promise<KnownParts> => {
  const found = await known.find(rows, `select ${known.list} from feed_files where feed_id = $1 and name = any($2)`, [feed, names]);
  return new Map(found.map(({ name, part, digest, records }) => [partKey(name, part), { digest, records }]));
};

const recordOfPart = columns({ key: expression("unnest(records)", text) });

/** Returns a part's records, for a part that was only partly readable. */
export const findPartRecords = async (rows: Read, feed: string, name: string, part: number): Promise<string[]> => {
  const found = await recordOfPart.find(rows, `select ${recordOfPart.list} from feed_files where feed_id = $1 and name = $2 and part = $3`, [feed, name, part]);
  return found.map(({ key }) => key);
};

/** Writes parts; call it in the transaction that writes their records. */
export const writeFeedParts = async (rows: Write, feed: string, parts: readonly FeedPart[]): Promise<void> => {
  await rows.query(
    `insert into feed_files (feed_id, name, part, digest, records)
     select $1::integer, name, part::integer, digest, array(select jsonb_array_elements_text(records::jsonb))
     from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as noted(name, part, digest, records)
     on conflict (feed_id, name, part) do update set digest = excluded.digest, records = excluded.records, absent_time = null`,
    [
      feed,
      parts.map(({ name }) => name),
      parts.map(({ part }) => String(part)),
      parts.map(({ digest }) => digest),
      parts.map(({ records }) => JSON.stringify(records)),
    ],
  );
};

const goneFilePart = columns({ name: text, part: number });

/** $1: the source; $2 and $3: its files and their numbers of parts. */
const isNotKept = `feed_id = $1 and not exists (
  select from unnest($2::text[], $3::text[]) as seen(name, parts) where seen.name = feed_files.name and feed_files.part < seen.parts::bigint)`;

/** Returns what deleteFeedPartsExcept would delete. */
export const findFeedPartsExcept = async (rows: Read, feed: string, kept: ReadonlyMap<string, number>): Promise<{ name: string; part: number }[]> =>
  goneFilePart.find(rows, `select ${goneFilePart.list} from feed_files where ${isNotKept}`, [feed, [...kept.keys()], [...kept.values()].map(String)]);

/** Deletes and returns parts that the source no longer has. `kept` has the number of parts by file. */
export const deleteFeedPartsExcept = async (rows: Write, feed: string, kept: ReadonlyMap<string, number>): Promise<{ name: string; part: number }[]> =>
  goneFilePart.find(rows, `delete from feed_files where ${isNotKept} returning ${goneFilePart.list}`, [feed, [...kept.keys()], [...kept.values()].map(String)]);

const absentFile = columns({ name: expression("distinct name", text) });

/** Marks files of `releases` that the source lacks as absent, unmarks those that are back, and returns the newly absent ones. */
export const markAbsentFiles = async (rows: Write, feed: string, kept: Iterable<string>, releases: readonly string[], nowMs: number): Promise<string[]> => {
  const values = [feed, [...kept]];
  await rows.query("update feed_files set absent_time = null where feed_id = $1 and absent_time is not null and name = any($2)", values);
  const found = await absentFile.find(
    rows,
    `with marked as (
       update feed_files set absent_time = $4::timestamptz where feed_id = $1 and absent_time is null and name <> all($2) and name = any($3) returning name)
     select ${absentFile.list} from marked`,
    [...values, releases, new Date(nowMs).toISOString()],
  );
  return found.map(({ name }) => name);
};

const recordOfFeed = columns({ key: expression("distinct record.key", text) });

/**
 * Scans the source once: an index of keys would be as large as the records, for one query per import.
 * @param except files that do not count
 */
export const findAssertedRecords = async (rows: Read, feed: string, keys: readonly string[], except: readonly string[] = []): Promise<Set<string>> => {
  if (keys.length === 0) return new Set();
  const found = await recordOfFeed.find(
    rows,
    `select ${recordOfFeed.list} from feed_files cross join unnest(records) as record(key)
     join unnest($2::text[]) as asked(key) on asked.key = record.key where feed_id = $1 and feed_files.name <> all($3)`,
    [feed, keys, except],
  );
  return new Set(found.map(({ key }) => key));
};

export const forgetFileDigests = async (rows: Write, feed: string): Promise<void> => {
  await rows.query("update feed_files set digest = '' where feed_id = $1", [feed]);
};

const counted = columns({ files: expression("count(*)", number) });

/** Forces a new read of these parts, since some of their changes were held back. */
export const forgetPartDigests = async (rows: Write, feed: string, parts: readonly { readonly name: string; readonly part: number }[]): Promise<void> => {
  if (parts.length === 0) return;
  await rows.query(
    `update feed_files set digest = '' where feed_id = $1
       and (name, part) in (select name, part::integer from unnest($2::text[], $3::text[]) as given(name, part))`,
    [feed, parts.map(({ name }) => name), parts.map(({ part }) => String(part))],
  );
};

export const deleteFeedParts = async (rows: Write, feed: string, parts: readonly { readonly name: string; readonly part: number }[]): Promise<void> => {
  if (parts.length === 0) return;
  await rows.query(
    `delete from feed_files where feed_id = $1
       and (name, part) in (select name, part::integer from unnest($2::text[], $3::text[]) as given(name, part))`,
    [feed, parts.map(({ name }) => name), parts.map(({ part }) => String(part))],
  );
};

export const countFeedParts = async (rows: Read, feed: string): Promise<number> => {
  const found = await counted.findOne(rows, `select ${counted.list} from feed_files where feed_id = $1`, [feed]);
  return found?.files ?? 0;
};

const fileOfFeed = columns({ name: expression("distinct name", text) });

/** Returns the names of the files that the source had when it was last read. */
export const findFeedFiles = async (rows: Read, feed: string): Promise<string[]> =>
  (await fileOfFeed.find(rows, `select ${fileOfFeed.list} from feed_files where feed_id = $1`, [feed])).map(({ name }) => name);

const recordCount = columns({ records: expression("coalesce(sum(cardinality(records)), 0)", number) });

export const countFeedRecords = async (rows: Read, feed: string): Promise<number> => {
  const found = await recordCount.findOne(rows, `select ${recordCount.list} from feed_files where feed_id = $1`, [feed]);
  return found?.records ?? 0;
};
