// Table feeds: the sources that imports read, one row for each kind, group and source, kept for good. A row says how the
// source was read last, whether something that it told earlier may be left over, and which changes of its records no
// event has told yet.

import { columns, expression, flag, json, number, text } from "./columns.ts";
import { changesOf, type OwnedChanges } from "./feed-counts.ts";
import { forgetFileDigests } from "./feed-files.ts";
import type { Read, Write } from "./handle.ts";

export interface FeedSource {
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  /** How it is read and for whom. Read in another manner, every file is new. */
  readonly manner: string;
  /** The licence of what it tells, as an SPDX identifier; undefined: as it was. */
  readonly license: string | undefined;
  /** Who wrote it, where the operator says so. */
  readonly author: string;
}

const opened = columns({ id: text, manner: text, license: text });

export interface OpenedFeed {
  readonly id: string;
  readonly license: string;
  /** Another licence than the last time. */
  readonly isRelicensed: boolean;
}

/** Finds or makes the source's row. */
export const openFeed = async (rows: Write, { kind, group, source, manner, license, author }: FeedSource): Promise<OpenedFeed> => {
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
  await rows.query("update feeds set license = $2, author = $3 where id = $1", [id, license ?? licenseBefore, author]);
  return { id, license: license ?? licenseBefore, isRelicensed: license !== undefined && license !== licenseBefore };
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

/** Sets the source's state. */
export const updateFeed = async (rows: Write, id: string, { settled, unreported }: FeedState): Promise<void> => {
  await rows.query("update feeds set settled = $2, unreported = $3 where id = $1", [id, settled, JSON.stringify(unreported)]);
};
