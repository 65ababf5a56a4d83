// Table held_records: what the last run of each source held back, up to a limit (docs/decisions/0073). Each run replaces the rows of
// its source.

import { limits } from "#base/limits.ts";
import { columns, expression, type Read, text, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";

export interface HeldRecord {
  readonly kind: "WITHDRAWAL" | "OLDER";
  /** Identifies the record among those of its source and kind. */
  readonly key: string;
  readonly recordId: string;
  /** Of an advisory; otherwise "". */
  readonly packageName: string;
  /** Of the stored record; "" if unknown. */
  readonly modifyTime: string;
  /** Of what the source has now; "" if it has nothing. */
  readonly sourceModifyTime: string;
}

const missing = columns({ key: text, recordId: text, packageName: text, modifyTime: expression("coalesce(modify_time::text, '')", text) });

export interface MissingOf {
  readonly feed: string;
  readonly group: string;
  /** Whether records that are marked as missing are held back. */
  readonly isMarkedHeld: boolean;
  /** Files that are empty now and had records. */
  readonly emptied: readonly string[];
}

/** Returns records of documents whose withdrawal is held back, by ID. */
export const findHeldWithdrawals = async (rows: Read, { feed, group, isMarkedHeld, emptied }: MissingOf): Promise<HeldRecord[]> => {
  const found = await missing.find(
    rows,
    `select ${missing.list} from (
       select distinct on (key) key, record_id, package_name, modify_time from (
         select record.record_key as key, coalesce(advisory.advisory_id, document.origin_id) as record_id,
           coalesce(advisory.artifact_name, '') as package_name, record.modify_time
         from document_records as record join source_documents as document on document.id = record.document_id
         left join advisories as advisory on advisory.uid = $2 || '/' || record.record_key
         where document.feed_id = $1 and record.told and (($3 and record.missing) or document.file = any($4))
         union all
         select document.form || ' ' || document.origin_id, document.origin_id, '', document.modify_time from source_documents as document
         where document.feed_id = $1 and document.told and (($3 and document.missing) or document.file = any($4))
           and not exists (select from document_records where document_id = document.id)) as gone
       order by key) as held
     order by record_id, key limit $5`,
    [feed, group, isMarkedHeld, emptied, limits.feedHeldRecordsMax],
  );
  return found.map((each) => ({ kind: "WITHDRAWAL", ...each, sourceModifyTime: "" }));
};

/** Replaces the records of the source. One that was held back before keeps its time. */
export const writeHeldRecords = async (rows: Write, feed: string, held: readonly HeldRecord[], nowMs: number): Promise<void> => {
  const kept = held.slice(0, limits.feedHeldRecordsMax);
  await rows.query(
    `with source as (select uid from feeds where id = $1),
     given as materialized (
       select distinct on (kind, key) source.uid || '/' || left(md5(kind || ' ' || key), 16) as uid, record_id, package_name, kind, modified, source_modified
       from source, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
         as all_held(kind, key, record_id, package_name, modified, source_modified)),
     gone as (delete from held_records where left(uid, -17) = (select uid from source) and uid not in (select uid from given))
     insert into held_records (uid, record_id, package_name, kind, modify_time, source_modify_time, hold_time)
     select uid, record_id, package_name, 'HELD_RECORD_KIND_' || kind, nullif(modified, '')::timestamptz, nullif(source_modified, '')::timestamptz,
       $8::timestamptz from given
     on conflict (uid) do update set record_id = excluded.record_id, package_name = excluded.package_name, modify_time = excluded.modify_time,
       source_modify_time = excluded.source_modify_time`,
    [
      feed,
      columnOf(kept, ({ kind }) => kind),
      columnOf(kept, ({ key }) => key),
      columnOf(kept, ({ recordId }) => recordId),
      columnOf(kept, ({ packageName }) => packageName),
      columnOf(kept, ({ modifyTime }) => modifyTime),
      columnOf(kept, ({ sourceModifyTime }) => sourceModifyTime),
      new Date(nowMs).toISOString(),
    ],
  );
};
