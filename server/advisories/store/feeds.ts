// Table feeds: import sources, one row per kind, group and source, never deleted. A row has unreported changes, and the
// last run's outcome and held changes.

import { limits } from "#base/limits.ts";
import { type Column, columns, expression, flag, json, nullableTimeMs, number, type Read, type RowOf, text, time, type Write } from "#db";
import { changeCount, changesOf, type OwnedChanges } from "./feed-counts.ts";
import { forgetFileDigests } from "./feed-files.ts";

export interface FeedSource {
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  /** Without secrets. */
  readonly sourceName: string;
  /** Reader version, format, author, license and visibility; a change makes every file new. */
  readonly manner: string;
  /** SPDX identifier; undefined keeps the stored one. */
  readonly license: string | undefined;
  /** If configured by the operator. */
  readonly author: string;
}

const opened = columns({ id: text, manner: text, license: text, run: number });

export interface OpenedFeed {
  readonly id: string;
  /** After a killed import, the next one continues its run. */
  readonly run: number;
  readonly license: string;
  readonly isRelicensed: boolean;
}

export const openFeed = async (rows: Write, { kind, group, source, sourceName, manner, license, author }: FeedSource): Promise<OpenedFeed> => {
  await rows.query("insert into feeds (kind, group_uid, source, manner, settled) values ($1, $2, $3, $4, true) on conflict do nothing", [
    kind,
    group,
    source,
    manner,
  ]);
  const found = await opened.findOne(rows, `select ${opened.list} from feeds where kind = $1 and group_uid = $2 and source = $3 for update`, [
    kind,
    group,
    source,
  ]);
  const { id = "", manner: before = "", license: licenseBefore = "" } = found ?? {};
  if (before !== manner) {
    await forgetFileDigests(rows, id);
    await rows.query("update feeds set manner = $2 where id = $1", [id, manner]);
  }
  await rows.query("update feeds set license = $2, author = $3, source_name = $4 where id = $1", [id, license ?? licenseBefore, author, sourceName]);
  const started = await opened.findOne(
    rows,
    // Held changes stay in one run until decided, so that an undo restores the state before it.
    `update feeds set run = run + case when run_open or hold_digest <> '' then 0 else 1 end, run_open = true where id = $1 returning ${opened.list}`,
    [id],
  );
  return { id, run: started?.run ?? 0, license: license ?? licenseBefore, isRelicensed: license !== undefined && license !== licenseBefore };
};

export interface FeedState {
  /** False if files were read since the last check for orphaned records. */
  readonly settled: boolean;
  /** Changes not yet reported in an event. */
  readonly unreported: OwnedChanges;
}

const state = columns({ id: text, settled: flag, unreported: json });

/**
 * Locks the source until the transaction ends. Serializes its imports, and those of sources that may assert the same
 * record, since each reads the others' assertions.
 */
export const lockFeed = async (rows: Write, id: string): Promise<FeedState> => {
  const all = await state.find(
    rows,
    `select ${state.list} from feeds
     where id = $1 or (kind in ('advisories', 'vulnerabilities') and exists (
       select from feeds as own where own.id = $1 and own.kind = feeds.kind and (own.group_uid = feeds.group_uid or own.kind = 'vulnerabilities')))
     order by id for update of feeds`,
    [id],
  );
  const found = all.find((each) => each.id === id);
  return { settled: found?.settled ?? true, unreported: changesOf(found?.unreported ?? null) };
};

const counted = columns({ feeds: expression("count(*)", number) });

/** Counts sources with documents, last read in a manner without this prefix. */
export const countFeedsReadOtherwise = async (rows: Read, manner: string): Promise<number> => {
  const found = await counted.findOne(
    rows,
    `select ${counted.list} from feeds where kind in ('advisories', 'vulnerabilities') and not starts_with(manner, $1)`,
    [manner],
  );
  return found?.feeds ?? 0;
};

const publishedState = columns({
  state: expression("coalesce(string_agg(concat_ws(' ', id, published_version, license), ' ' order by id), '')", text),
});

/** Returns a value that changes with published records and their licenses. */
export const readPublishedState = async (rows: Read): Promise<string> => {
  const found = await publishedState.findOne(
    rows,
    `select ${publishedState.list} from feeds where published_version is not null and exists (select from groups where uid = feeds.group_uid)`,
  );
  return found?.state ?? "";
};

export const updateFeed = async (rows: Write, id: string, { settled, unreported }: FeedState): Promise<void> => {
  await rows.query("update feeds set settled = $2, unreported = $3, coverage_due = coverage_due or $4 where id = $1", [
    id,
    settled,
    JSON.stringify(unreported),
    !settled || changeCount(unreported.group) + changeCount(unreported.everybody) > 0,
  ]);
};

/** Clears and returns whether coverage must be refreshed: records changed, or a release ended. */
export const takeCoverageDue = async (rows: Write, id: string): Promise<boolean> => {
  const taken = await rows.query(
    "update feeds set coverage_due = false where id = $1 and kind = 'advisories' and (coverage_due or absent_files is not null) returning 1",
    [id],
  );
  return taken.length > 0;
};

/** Writes the time without success after which the source is stale; 0 selects the configured default. */
export const writeStaleAfter = async (rows: Write, id: string, staleAfterMs: number): Promise<void> => {
  await rows.query("update feeds set stale_after_ms = $2 where id = $1", [id, staleAfterMs]);
};

// $1: now; $2: the default. A source without records covers nothing; files of images, libraries and lifecycles have no
// schedule.
const isStale = `kind in ('advisories', 'vulnerabilities') and record_count > 0 and coalesce(success_time, '-infinity') < $1::timestamptz
  - (case when stale_after_ms > 0 then stale_after_ms else $2::bigint end) * interval '1 ms'`;

const staleCount = columns({ kind: text, feeds: expression("count(*)", number) });

export const countStaleFeeds = (rows: Read, nowMs: number, staleAfterMs: number): Promise<{ readonly kind: string; readonly feeds: number }[]> =>
  staleCount.find(rows, `select ${staleCount.list} from feeds where ${isStale} group by kind`, [new Date(nowMs).toISOString(), staleAfterMs]);

export type StaleFeed = RowOf<typeof staleFeed>;

const staleFeed = columns({
  kind: text,
  sourceName: text,
  /** Empty if never. */
  successTime: time("success_time"),
});

export const findStaleFeeds = (rows: Read, nowMs: number, staleAfterMs: number, limit: number): Promise<StaleFeed[]> =>
  staleFeed.find(rows, `select ${staleFeed.list} from feeds where ${isStale} order by id limit $3`, [new Date(nowMs).toISOString(), staleAfterMs, limit]);

/** Why a run held changes back; empty if it did not. */
export type HeldReason = "" | "EMPTY" | "UNREADABLE" | "SHRUNK" | "OLDER";

export type HeldBack = RowOf<typeof heldBack>;

const heldReasons: readonly HeldReason[] = ["EMPTY", "UNREADABLE", "SHRUNK", "OLDER"];

const reasonPrefix = "FEED_HOLD_REASON_";
const statePrefix = "FEED_STATE_";

const heldReason: Column<HeldReason> = {
  sql: "hold_reason",
  read: (value) => heldReasons.find((each) => `${reasonPrefix}${each}` === value) ?? "",
};

const heldBack = columns({
  reason: heldReason,
  /** Records not withdrawn or replaced. */
  records: expression("held_record_count", number),
  /** Since when every run has had this result. */
  sinceMs: nullableTimeMs("hold_time"),
  /** Changes with the set of held records. */
  digest: expression("hold_digest", text),
});

export const findHeldBack = async (rows: Read, id: string): Promise<HeldBack> =>
  (await heldBack.findOne(rows, `select ${heldBack.list} from feeds where id = $1`, [id])) ?? { reason: "", records: 0, sinceMs: undefined, digest: "" };

export const writeHeldBack = async (rows: Write, id: string, { reason, records, sinceMs, digest }: HeldBack): Promise<void> => {
  await rows.query("update feeds set hold_reason = $2, held_record_count = $3, hold_time = $4::timestamptz, hold_digest = $5 where id = $1", [
    id,
    reason === "" ? null : `${reasonPrefix}${reason}`,
    records,
    sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    digest,
  ]);
};

export interface FeedOutcome {
  readonly state: "OK" | "HELD" | "FAILED";
  /** The reason, for the operator; empty for OK. */
  readonly detail: string;
  /** Undefined if unknown. */
  readonly records: number | undefined;
  /** An undo, which reads nothing and is no success. */
  readonly isUnread?: boolean;
  readonly nowMs: number;
}

export const writeFeedOutcome = async (rows: Write, id: string, { state: word, detail, records, isUnread = false, nowMs }: FeedOutcome): Promise<void> => {
  await rows.query(
    `update feeds set state = $2, detail = $3, record_count = coalesce($4::integer, record_count),
       success_time = case when $6 then $5::timestamptz else success_time end,
       absent_files = (select jsonb_agg(name order by name) from (
         select name from feed_files where feed_id = feeds.id and absent_time is not null and part = 0 order by name limit $7) as absent)
     where id = $1`,
    [id, `${statePrefix}${word}`, detail, records ?? null, new Date(nowMs).toISOString(), word === "OK" && !isUnread, limits.feedAbsentFilesMax],
  );
};

/** Closes the run. If it changed records, an undo reverts this run. */
export const closeRun = async (rows: Write, id: string, run: number, hasChanged: boolean, nowMs: number): Promise<void> => {
  await rows.query(
    `update feeds set run_open = run_open and run <> $2,
       changed_run = case when $3 then $2 else changed_run end, change_time = case when $3 then $4::timestamptz else change_time end where id = $1`,
    [id, run, hasChanged, new Date(nowMs).toISOString()],
  );
};

export type TroubledFeed = RowOf<typeof troubled>;

const troubled = columns({ kind: text, sourceName: text, state: text, detail: text });

export const findTroubledFeeds = (rows: Read, limit: number): Promise<TroubledFeed[]> =>
  troubled.find(rows, `select ${troubled.list} from feeds where state in ('${statePrefix}HELD', '${statePrefix}FAILED') order by id limit $1`, [limit]);

const undoable = columns({
  id: text,
  kind: text,
  group: expression("group_uid", text),
  source: text,
  license: text,
  author: text,
  /** An import is running or was killed. */
  runOpen: flag,
  /** 0 if none. */
  changedRun: number,
  changeTime: nullableTimeMs("change_time"),
});

export type UndoableFeed = RowOf<typeof undoable>;

export const findFeedsOfSource = (rows: Read, source: string): Promise<UndoableFeed[]> =>
  undoable.find(rows, `select ${undoable.list} from feeds where source = $1 order by id`, [source]);

/** Records a completed undo: nothing more to undo, and no held changes. */
export const closeUndo = async (rows: Write, id: string, nowMs: number): Promise<void> => {
  await rows.query(
    `update feeds set changed_run = 0, change_time = $2, settled = true, hold_reason = null, held_record_count = 0, hold_time = null,
       hold_digest = '' where id = $1`,
    [id, new Date(nowMs).toISOString()],
  );
};

const held = columns({ reason: heldReason, feeds: expression("count(*)", number) });

export const countHeldFeeds = (rows: Read): Promise<{ readonly reason: string; readonly feeds: number }[]> =>
  held.find(rows, `select ${held.list} from feeds where hold_reason is not null group by hold_reason`);
