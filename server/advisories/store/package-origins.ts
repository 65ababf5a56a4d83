// Table package_origins. Rows are kept, because origins do not change.

import { columns, type Read, text, type Write } from "#db";
import { noCounts } from "./feed-counts.ts";
import { columnOf, lastByKey, writtenCounts } from "./feed-rows.ts";
import type { PackageOriginRecord, RecordTarget, WriteCounts } from "./records.ts";

const packageOrigin = columns({ name: text, origin: text });

/** Returns the packages built from this one, including itself. */
export const findSubpackages = async (rows: Read, origin: string): Promise<string[]> => {
  const found = await packageOrigin.find(rows, `select ${packageOrigin.list} from package_origins where origin = $1`, [origin]);
  return [...new Set([origin, ...found.map(({ name }) => name)])];
};

export const findOrigins = async (rows: Read, names: readonly string[]): Promise<Map<string, string>> => {
  const found = await packageOrigin.find(rows, `select ${packageOrigin.list} from package_origins where name = any($1)`, [names]);
  return new Map(found.map(({ name, origin }) => [name, origin]));
};

/** Writes the origins; the latest record wins. */
export const writeOrigins = async (rows: Write, target: RecordTarget, records: readonly PackageOriginRecord[]): Promise<WriteCounts> => {
  const drafts = [...lastByKey(records).values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  const written = await writtenCounts.findOne(
    rows,
    `with given as (select * from unnest($1::text[], $2::text[]) as given(name, origin)),
     other as (
       select given.*, held.name is null as fresh from given left join package_origins as held using (name)
       where held.origin is distinct from given.origin),
     written as (insert into package_origins (name, origin, feed) select name, origin, $3 from other
       on conflict (name) do update set origin = excluded.origin, feed = excluded.feed returning 1)
     select ${writtenCounts.list} from other`,
    [columnOf(drafts, ({ name }) => name), columnOf(drafts, ({ origin }) => origin), target.feed],
  );
  const { new: made, changed } = written ?? noCounts;
  return { ...noCounts, new: made, changed, unchanged: drafts.length - made - changed };
};
