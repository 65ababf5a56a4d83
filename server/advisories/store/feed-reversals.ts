// Table feed_reversals: what a source's last changing run replaced, for an undo. Written in the same transactions; the
// first row per key counts. A later changing run deletes them. Additions have no row: source_documents.added_run names
// their run.

import { isObject, type JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, json, type Read, type Retention, sweptNothing, text, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";

export interface FeedRun {
  readonly feed: string;
  readonly run: number;
}

/** Call it before documents are replaced or withdrawn. */
export const keepDocuments = async (rows: Write, { feed, run }: FeedRun, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0 || run === 0) return;
  await rows.query(
    `insert into feed_reversals (feed_id, run, what, key, previous, body)
     select feed_id, $2::integer, 'document', id::text, jsonb_build_object('file', file, 'part', part, 'form', form, 'originId', origin_id, 'ordinal', ordinal,
       'public', public, 'told', told), body
     from source_documents where feed_id = $1::integer and id = any($3::bigint[]) and (added_run <> $2 or added_run = 0)
     on conflict do nothing`,
    [feed, run, ids],
  );
};

export const keepParts = async (rows: Write, { feed, run }: FeedRun, parts: readonly { readonly name: string; readonly part: number }[]): Promise<void> => {
  if (parts.length === 0 || run === 0) return;
  await rows.query(
    `insert into feed_reversals (feed_id, run, what, key, previous)
     select $1::integer, $2::integer, 'part', json_build_array(given.name, given.part::integer)::text,
       case when held.feed_id is null then jsonb_build_object('name', given.name, 'part', given.part::integer)
       else jsonb_build_object('name', held.name, 'part', held.part, 'records', to_jsonb(held.records)) end
     from unnest($3::text[], $4::text[]) as given(name, part)
     left join feed_files as held on held.feed_id = $1::integer and held.name = given.name and held.part = given.part::integer
     on conflict do nothing`,
    [feed, run, columnOf(parts, ({ name }) => name), columnOf(parts, ({ part }) => String(part))],
  );
};

export const keepFacts = async (rows: Write, { feed, run }: FeedRun, what: "known exploit" | "exploit prediction", ids: readonly string[]): Promise<void> => {
  if (ids.length === 0 || run === 0) return;
  await rows.query(
    what === "known exploit"
      ? `insert into feed_reversals (feed_id, run, what, key, previous)
         select $1::integer, $2::integer, $3, given.id, to_jsonb(held) from unnest($4::text[]) as given(id)
         left join known_exploits as held on held.feed_id = $1::integer and held.id = given.id on conflict do nothing`
      : `insert into feed_reversals (feed_id, run, what, key, previous)
         select $1::integer, $2::integer, $3, given.id, to_jsonb(held) from unnest($4::text[]) as given(id)
         left join exploit_predictions as held on held.feed_id = $1::integer and held.id = given.id on conflict do nothing`,
    [feed, run, what, ids],
  );
};

export interface Reversal {
  readonly what: string;
  readonly key: string;
  /** Undefined if new. */
  readonly previous: JsonObject | undefined;
  /** Deflated, base64; empty except for documents. */
  readonly body: string;
}

const reversal = columns({
  what: text,
  key: text,
  previous: json,
  body: expression("coalesce(translate(encode(body, 'base64'), E'\\n', ''), '')", text),
});

export const findReversals = async (rows: Read, { feed, run }: FeedRun, what: string, limit: number): Promise<Reversal[]> => {
  const found = await reversal.find(rows, `select ${reversal.list} from feed_reversals where feed_id = $1 and run = $2 and what = $3 order by key limit $4`, [
    feed,
    run,
    what,
    limit,
  ]);
  return found.map((each) => ({ ...each, previous: isObject(each.previous) ? each.previous : undefined }));
};

export const deleteReversals = async (rows: Write, { feed, run }: FeedRun, what: string, keys: readonly string[]): Promise<void> => {
  await rows.query("delete from feed_reversals where feed_id = $1 and run = $2 and what = $3 and key = any($4)", [feed, run, what, keys]);
};

/** A changing run deletes earlier runs' rows, any other its own. */
export const deleteReversalsBehind = async (rows: Write, { feed, run }: FeedRun, hasChanged: boolean): Promise<void> => {
  await rows.query(hasChanged ? "delete from feed_reversals where feed_id = $1 and run < $2" : "delete from feed_reversals where feed_id = $1 and run = $2", [
    feed,
    run,
  ]);
};

export const deleteAllReversals = async (rows: Write, feed: string): Promise<void> => {
  await rows.query("delete from feed_reversals where feed_id = $1", [feed]);
};

/** Expires with documents. */
export const feedReversalsRetention: Retention = {
  table: "feed_reversals",
  period: "documentMs",
  async deleteExpired(store, nowMs, { documentMs }) {
    if (documentMs === undefined) return sweptNothing;
    const expired = { table: "feed_reversals", where: "feed_id in (select id from feeds where change_time < $1)", order: "feed_id, run" };
    return deleteRows(store, expired, [timestamp(nowMs - documentMs)]);
  },
};
