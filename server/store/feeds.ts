// Table feeds: the sources that imports read, one row for each kind, group and source, kept for good. A row says how the
// source was read last, whether something that it told earlier may be left over, and which changes of its records no
// event has told yet.

import { columns, flag, json, text } from "./columns.ts";
import { changesOf, type OwnedChanges } from "./feed-counts.ts";
import { forgetFileDigests } from "./feed-files.ts";
import type { Write } from "./handle.ts";

export interface FeedSource {
  readonly kind: string;
  readonly group: string;
  readonly source: string;
  /** How it is read and for whom. Read in another manner, every file is new. */
  readonly manner: string;
}

const opened = columns({ id: text, manner: text });

/** Finds or makes the source's row; its id. */
export const openFeed = async (rows: Write, { kind, group, source, manner }: FeedSource): Promise<string> => {
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
  const { id = "", manner: before = "" } = found ?? {};
  if (before !== manner) {
    await forgetFileDigests(rows, id);
    await rows.query("update feeds set manner = $2 where id = $1", [id, manner]);
  }
  return id;
};

export interface FeedState {
  /** False: files were read since the last look for records that no file tells any longer. */
  readonly settled: boolean;
  /** Changes that no event has told yet. */
  readonly unreported: OwnedChanges;
}

const state = columns({ settled: flag, unreported: json });

/** The source's state, held until the transaction ends: two imports of one source at once take turns. */
export const lockFeed = async (rows: Write, id: string): Promise<FeedState> => {
  const found = await state.findOne(rows, `select ${state.list} from feeds where id = $1 for update`, [id]);
  return { settled: found?.settled ?? true, unreported: changesOf(found?.unreported ?? null) };
};

/** Sets the source's state. */
export const updateFeed = async (rows: Write, id: string, { settled, unreported }: FeedState): Promise<void> => {
  await rows.query("update feeds set settled = $2, unreported = $3 where id = $1", [id, settled, JSON.stringify(unreported)]);
};
