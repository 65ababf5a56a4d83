// Table feeds: the sources that imports read, one row for each kind, group and source, kept for good. A row says how the
// source was read last, whether something that it told earlier may be left over, which changes of its records no event
// has told yet, and the state of the last run: whether it succeeded, and what it held back.

import { limits } from "#base/limits.ts";
import { type Column, columns, expression, flag, json, nullableTimeMs, number, type Read, text, time, type Write } from "#db";
import { changeCount, changesOf, type OwnedChanges } from "./feed-counts.ts";
import { forgetFileDigests } from "./feed-files.ts";

export interface FeedSource {
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  /** The source without what may be secret in an address. */
  readonly sourceName: string;
  /** How it is read and for whom. Read in another manner, every file is new. */
  readonly manner: string;
  /** The licence of what it tells, as an SPDX identifier; undefined: as it was. */
  readonly license: string | undefined;
  /** Who wrote it, where the operator says so. */
  readonly author: string;
}

const opened = columns({ id: text, manner: text, license: text, run: number });

export interface OpenedFeed {
  readonly id: string;
  /** The number of the run. An import that was killed left its run open, and this one continues it. */
  readonly run: number;
  readonly license: string;
  /** Another licence than the last time. */
  readonly isRelicensed: boolean;
}

/** Finds or makes the source's row. */
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
    // What is held back belongs to one run until it is decided, so that an undo goes back to before it began.
    `update feeds set run = run + case when run_open or hold_digest <> '' then 0 else 1 end, run_open = true where id = $1 returning ${opened.list}`,
    [id],
  );
  return { id, run: started?.run ?? 0, license: license ?? licenseBefore, isRelicensed: license !== undefined && license !== licenseBefore };
};

export interface FeedState {
  /** False: files were read since the last look for records that no file tells any longer. */
  readonly settled: boolean;
  /** Changes that no event has told yet. */
  readonly unreported: OwnedChanges;
}

const state = columns({ id: text, settled: flag, unreported: json });

/**
 * The source's state, held until the transaction ends: two imports of one source at once take turns, and those of all
 * sources that may tell the same record, since whoever tells it looks at what the others do.
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

/** How many sources whose documents are kept were read last in a manner that does not begin so. */
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

/** Changes in each transaction that changes something of the records that are published, or what may be published of them. */
export const readPublishedState = async (rows: Read): Promise<string> => {
  const found = await publishedState.findOne(
    rows,
    `select ${publishedState.list} from feeds where published_version is not null and exists (select from groups where uid = feeds.group_uid)`,
  );
  return found?.state ?? "";
};

/** Sets the source's state. */
export const updateFeed = async (rows: Write, id: string, { settled, unreported }: FeedState): Promise<void> => {
  await rows.query("update feeds set settled = $2, unreported = $3, coverage_due = coverage_due or $4 where id = $1", [
    id,
    settled,
    JSON.stringify(unreported),
    !settled || changeCount(unreported.group) + changeCount(unreported.everybody) > 0,
  ]);
};

/** Whether what the source covers may have changed since it was last asked, or a release of it has ended. */
export const takeCoverageDue = async (rows: Write, id: string): Promise<boolean> => {
  const taken = await rows.query(
    "update feeds set coverage_due = false where id = $1 and kind = 'advisories' and (coverage_due or absent_files is not null) returning 1",
    [id],
  );
  return taken.length > 0;
};

/** Writes after how long without a success the source is stale; 0: as the setting says. */
export const writeStaleAfter = async (rows: Write, id: string, staleAfterMs: number): Promise<void> => {
  await rows.query("update feeds set stale_after_ms = $2 where id = $1", [id, staleAfterMs]);
};

// $1: now; $2: the setting. A source without records judges nothing, and is not missed. Files of images, libraries and lifecycles are
// imported when they are there, and have no pace.
const isStale = `kind in ('advisories', 'vulnerabilities') and record_count > 0 and coalesce(success_time, '-infinity') < $1::timestamptz
  - (case when stale_after_ms > 0 then stale_after_ms else $2::bigint end) * interval '1 ms'`;

const staleCount = columns({ kind: text, feeds: expression("count(*)", number) });

/** How many sources are stale, by kind. */
export const countStaleFeeds = (rows: Read, nowMs: number, staleAfterMs: number): Promise<{ readonly kind: string; readonly feeds: number }[]> =>
  staleCount.find(rows, `select ${staleCount.list} from feeds where ${isStale} group by kind`, [new Date(nowMs).toISOString(), staleAfterMs]);

/** A source whose last success is longer ago than its bound. */
export interface StaleFeed {
  readonly kind: string;
  readonly sourceName: string;
  /** RFC 3339; "" for never. */
  readonly successTime: string;
}

const staleFeed = columns<StaleFeed>({ kind: text, sourceName: text, successTime: time("success_time") });

/** The stale sources, at most `limit`. */
export const findStaleFeeds = (rows: Read, nowMs: number, staleAfterMs: number, limit: number): Promise<StaleFeed[]> =>
  staleFeed.find(rows, `select ${staleFeed.list} from feeds where ${isStale} order by id limit $3`, [new Date(nowMs).toISOString(), staleAfterMs, limit]);

/** Why a run held something back; "" for a run that held nothing back. */
export type HeldReason = "" | "EMPTY" | "UNREADABLE" | "SHRUNK" | "OLDER";

/** What a run held back. */
export interface HeldBack {
  readonly reason: HeldReason;
  /** How many records it did not withdraw, or did not replace. */
  readonly records: number;
  /** Since when each run had the same result. */
  readonly sinceMs: number | undefined;
  /** Changes with the records that are held back. */
  readonly digest: string;
}

const heldReasons: readonly HeldReason[] = ["EMPTY", "UNREADABLE", "SHRUNK", "OLDER"];

// As the contract writes them.
const reasonPrefix = "FEED_HOLD_REASON_";
const statePrefix = "FEED_STATE_";

const heldReason: Column<HeldReason> = {
  sql: "hold_reason",
  read: (value) => heldReasons.find((each) => `${reasonPrefix}${each}` === value) ?? "",
};

const heldBack = columns<HeldBack>({
  reason: heldReason,
  records: expression("held_record_count", number),
  sinceMs: nullableTimeMs("hold_time"),
  digest: expression("hold_digest", text),
});

/** Returns what the last run of the source held back. */
export const findHeldBack = async (rows: Read, id: string): Promise<HeldBack> =>
  (await heldBack.findOne(rows, `select ${heldBack.list} from feeds where id = $1`, [id])) ?? { reason: "", records: 0, sinceMs: undefined, digest: "" };

/** Writes what a run held back, or that it held nothing back. */
export const writeHeldBack = async (rows: Write, id: string, { reason, records, sinceMs, digest }: HeldBack): Promise<void> => {
  await rows.query("update feeds set hold_reason = $2, held_record_count = $3, hold_time = $4::timestamptz, hold_digest = $5 where id = $1", [
    id,
    reason === "" ? null : `${reasonPrefix}${reason}`,
    records,
    sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    digest,
  ]);
};

/** How a run ended. */
export interface FeedOutcome {
  readonly state: "OK" | "HELD" | "FAILED";
  /** Why, for the operator; "" for OK. */
  readonly detail: string;
  /** Records that the source tells; undefined if the run does not know. */
  readonly records: number | undefined;
  /** The source was not read, and has no later success: an undo. */
  readonly isUnread?: boolean;
  readonly nowMs: number;
}

/** Writes how a run ended. Its changes are closed by closeRun. */
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

/** Closes the run. One that changed records becomes the one that an undo reverts. */
export const closeRun = async (rows: Write, id: string, run: number, hasChanged: boolean, nowMs: number): Promise<void> => {
  await rows.query(
    `update feeds set run_open = run_open and run <> $2,
       changed_run = case when $3 then $2 else changed_run end, change_time = case when $3 then $4::timestamptz else change_time end where id = $1`,
    [id, run, hasChanged, new Date(nowMs).toISOString()],
  );
};

/** A source that does not stand well: something is held back, or it could not be read. */
export interface TroubledFeed {
  readonly kind: string;
  readonly sourceName: string;
  readonly state: string;
  readonly detail: string;
}

const troubled = columns<TroubledFeed>({ kind: text, sourceName: text, state: text, detail: text });

/** The sources that hold something back or failed, at most `limit`. */
export const findTroubledFeeds = (rows: Read, limit: number): Promise<TroubledFeed[]> =>
  troubled.find(rows, `select ${troubled.list} from feeds where state in ('${statePrefix}HELD', '${statePrefix}FAILED') order by id limit $1`, [limit]);

const undoable = columns({
  id: text,
  kind: text,
  group: expression("group_uid", text),
  source: text,
  license: text,
  author: text,
  runOpen: flag,
  changedRun: number,
  changeTime: nullableTimeMs("change_time"),
});

export interface UndoableFeed {
  readonly id: string;
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  readonly license: string;
  readonly author: string;
  /** An import is under way, or was killed. */
  readonly runOpen: boolean;
  /** 0: nothing to undo. */
  readonly changedRun: number;
  readonly changeTime: number | undefined;
}

/** The rows of a source: one for each kind and group that it was imported for. */
export const findFeedsOfSource = (rows: Read, source: string): Promise<UndoableFeed[]> =>
  undoable.find(rows, `select ${undoable.list} from feeds where source = $1 order by id`, [source]);

/** The last run was reverted: there is nothing more to undo, and the next import reads everything again. */
export const closeUndo = async (rows: Write, id: string, nowMs: number): Promise<void> => {
  await rows.query(
    `update feeds set changed_run = 0, change_time = $2, settled = true, hold_reason = null, held_record_count = 0, hold_time = null,
       hold_digest = '' where id = $1`,
    [id, new Date(nowMs).toISOString()],
  );
};

const held = columns({ reason: heldReason, feeds: expression("count(*)", number) });

/** How many sources hold something back, by why. */
export const countHeldFeeds = (rows: Read): Promise<{ readonly reason: string; readonly feeds: number }[]> =>
  held.find(rows, `select ${held.list} from feeds where hold_reason is not null group by hold_reason`);
