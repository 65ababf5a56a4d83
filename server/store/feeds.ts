// What imports remember of their sources: which file, and which part of a long one, was read with which content and told
// which records. A file that is the same is not read again; what no file tells any longer is withdrawn; a run that was
// killed goes on where it stopped, since a file is noted in the transaction that wrote its records.

import type { Read, Row, Write } from "./handle.ts";

export interface FeedSource {
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  /** How it is read and for whom. Read in another manner, every file is new. */
  readonly manner: string;
}

export interface FeedPart {
  readonly name: string;
  readonly part: number;
  /** Of the bytes; "" for what must be read again. */
  readonly digest: string;
  readonly records: readonly string[];
}

/** Finds or makes the source's row. */
export const openFeed = async (rows: Write, { kind, group, source, manner }: FeedSource): Promise<string> => {
  await rows.query("insert into feeds (kind, group_uid, source, manner, settled) values ($1, $2, $3, $4, true) on conflict do nothing", [
    kind,
    group,
    source,
    manner,
  ]);
  const [found] = await rows.query("select id, manner from feeds where kind = $1 and group_uid = $2 and source = $3 for update", [kind, group, source]);
  const [id = "", before = ""] = found ?? [];
  if (before !== manner) {
    await rows.query("update feed_files set digest = '' where feed_id = $1", [id]);
    await rows.query("update feeds set manner = $2 where id = $1", [id, manner]);
  }
  return id ?? "";
};

/** What is remembered of files: by name and part, the digest and how many records it told. */
export const findFeedParts = async (
  rows: Read,
  feed: string,
  names: readonly string[],
): Promise<Map<string, { readonly digest: string; readonly records: number }>> => {
  const found = await rows.query("select name, part, digest, cardinality(records) from feed_files where feed_id = $1 and name = any($2)", [feed, names]);
  return new Map(found.map(([name, part, digest, records]) => [`${name}\n${part}`, { digest: digest ?? "", records: Number(records) }]));
};

/** The records of one part, for a part that could only be read in part. */
export const findFeedRecords = async (rows: Read, feed: string, name: string, part: number): Promise<string[]> => {
  const found = await rows.query("select unnest(records) from feed_files where feed_id = $1 and name = $2 and part = $3", [feed, name, part]);
  return found.map(([key]) => key ?? "");
};

/** Notes files along with their records. Until the run ends, what they told before may be left over. */
export const writeFeedParts = async (rows: Write, feed: string, parts: readonly FeedPart[]): Promise<void> => {
  if (parts.length === 0) return;
  // Two imports of one source at once take turns.
  await rows.query("update feeds set settled = false where id = $1", [feed]);
  await rows.query(
    `insert into feed_files (feed_id, name, part, digest, records)
     select $1::integer, name, part::integer, digest, array(select jsonb_array_elements_text(records::jsonb))
     from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as noted(name, part, digest, records)
     on conflict (feed_id, name, part) do update set digest = excluded.digest, records = excluded.records`,
    [
      feed,
      parts.map(({ name }) => name),
      parts.map(({ part }) => String(part)),
      parts.map(({ digest }) => digest),
      parts.map(({ records }) => JSON.stringify(records)),
    ],
  );
};

/**
 * Behind a source that was read whole: forgets files that are gone. `seen` has the number of parts of each file.
 * @returns the keys of all records that the source still tells; undefined where none can have vanished
 */
export const sweepFeed = async (rows: Write, feed: string, seen: ReadonlyMap<string, number>): Promise<Set<string> | undefined> => {
  const [state] = await rows.query("select settled from feeds where id = $1 for update", [feed]);
  const gone = await rows.query(
    `delete from feed_files where feed_id = $1 and not exists (
       select from unnest($2::text[], $3::text[]) as seen(name, parts) where seen.name = feed_files.name and feed_files.part < seen.parts::bigint)
     returning 1`,
    [feed, [...seen.keys()], [...seen.values()].map(String)],
  );
  if (gone.length === 0 && state?.[0] === "t") return undefined;
  const keys: Row[] = await rows.query("select distinct unnest(records) from feed_files where feed_id = $1", [feed]);
  await rows.query("update feeds set settled = true where id = $1", [feed]);
  return new Set(keys.map(([key]) => key ?? ""));
};

/** How many files of the source are remembered. */
export const countFeedFiles = async (rows: Read, feed: string): Promise<number> => {
  const [found] = await rows.query("select count(*) from feed_files where feed_id = $1", [feed]);
  return Number(found?.[0]);
};

/**
 * Takes a feed's turn: only one of all servers gets it, when it is due and nobody holds it. A server that dies gives its
 * turn back when the lease ends.
 */
export const claimFeed = async (rows: Write, schedule: string, holder: string, now: string, leaseUntil: string): Promise<boolean> => {
  await rows.query("insert into feed_schedules (schedule, next_time, failures) values ($1, $2, 0) on conflict do nothing", [schedule, now]);
  const claimed = await rows.query(
    `update feed_schedules set lease_holder = $2, lease_until = $4
     where schedule = $1 and next_time <= $3 and (lease_until is null or lease_until <= $3 or lease_holder = $2) returning 1`,
    [schedule, holder, now, leaseUntil],
  );
  return claimed.length > 0;
};

/** Keeps the turn; false where somebody else has it by now. */
export const renewFeed = async (rows: Write, schedule: string, holder: string, leaseUntil: string): Promise<boolean> =>
  (await rows.query("update feed_schedules set lease_until = $3 where schedule = $1 and lease_holder = $2 returning 1", [schedule, holder, leaseUntil]))
    .length > 0;

/** How often it has failed in a row. */
export const feedFailures = async (rows: Read, schedule: string): Promise<number> => {
  const [found] = await rows.query("select failures from feed_schedules where schedule = $1", [schedule]);
  return Number(found?.[0] ?? 0);
};

/** Ends the turn: when the next one is due, and what came of this one. */
export const releaseFeed = async (
  rows: Write,
  schedule: string,
  holder: string,
  outcome: { readonly nextTime: string; readonly failures: number; readonly lastTime: string; readonly lastOutcome: string },
): Promise<void> => {
  await rows.query(
    `update feed_schedules set next_time = $3, failures = $4, last_time = $5, last_outcome = $6, lease_holder = null, lease_until = null
     where schedule = $1 and lease_holder = $2`,
    [schedule, holder, outcome.nextTime, outcome.failures, outcome.lastTime, outcome.lastOutcome],
  );
};
