// Table lifecycles: release and end dates of product versions, imported for a group and its descendants.

import { isObject, type Json, text as member } from "#base/json.ts";
import { columns, json, number, type Read, type RowOf, text, textList, time, type Write } from "#db";
import {
  columnOf,
  type FindAsserted,
  lastByKey,
  type LifecycleRecord,
  type LifecycleRelease,
  noCounts,
  recordDigestOf,
  type RecordTarget,
  uidSegmentOf,
  type WriteCounts,
  writtenCounts,
} from "#advisories/store";

export const writeLifecycles = async (rows: Write, target: RecordTarget, records: readonly LifecycleRecord[]): Promise<WriteCounts> => {
  const drafts = [...lastByKey(records).values()]
    .map(({ product, names, graceMonths, releases }) => ({ product, names, graceMonths, releases, digest: recordDigestOf([names, graceMonths, releases]) }))
    .sort((one, other) => (one.product < other.product ? -1 : 1));
  const written = await writtenCounts.findOne(
    rows,
    `with given as (
       select * from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as given(product, names, releases, grace_months, digest)
     ), other as (
       select given.*, held.product is null as fresh from given left join lifecycles as held
       on held.owner = $1 and held.feed = $2 and held.product = given.product
       where held.digest is distinct from given.digest
     ), written as (
       insert into lifecycles as held (owner, feed, product, names, releases, grace_months, digest, create_time, update_time)
       select $1, $2, product, names::jsonb, releases::jsonb, grace_months::integer, digest, $8::timestamptz, $8::timestamptz from other
       on conflict (owner, feed, product) do update set names = excluded.names, releases = excluded.releases, grace_months = excluded.grace_months,
         digest = excluded.digest, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
       returning 1
     ) select ${writtenCounts.list} from other`,
    [
      target.group,
      target.feed,
      columnOf(drafts, ({ product }) => product),
      columnOf(drafts, ({ names }) => JSON.stringify(names)),
      columnOf(drafts, ({ releases }) => JSON.stringify(releases)),
      columnOf(drafts, ({ graceMonths }) => String(graceMonths)),
      columnOf(drafts, ({ digest }) => digest),
      new Date(target.nowMs).toISOString(),
    ],
  );
  const { new: made, changed } = written ?? noCounts;
  return { ...noCounts, new: made, changed, unchanged: drafts.length - made - changed };
};

const productOfRow = columns({ product: text });

/** Deletes lifecycles that `findAsserted` does not return. */
export const withdrawLifecycles = async (rows: Write, { feed, group }: RecordTarget, findAsserted: FindAsserted): Promise<number> => {
  const found = await productOfRow.find(rows, `select ${productOfRow.list} from lifecycles where feed = $1 and owner = $2`, [feed, group]);
  const told = await findAsserted(
    found.map(({ product }) => uidSegmentOf(product)),
    found.map(({ product }) => product),
  );
  const gone = found.filter(({ product }) => !told.has(uidSegmentOf(product)));
  if (gone.length === 0) return 0;
  await rows.query("delete from lifecycles where feed = $1 and owner = $2 and product = any($3)", [feed, group, columnOf(gone, ({ product }) => product)]);
  return gone.length;
};

export type Lifecycle = RowOf<typeof lifecycle>;

const releasesOf = (value: Json): LifecycleRelease[] =>
  (Array.isArray(value) ? value.filter(isObject) : []).map((release) => ({
    version: member(release, "version"),
    releaseDate: member(release, "releaseDate"),
    end: member(release, "end"),
    lts: member(release, "lts"),
    latest: member(release, "latest"),
    broken: release.broken === true,
  }));

const lifecycle = columns({
  owner: text,
  product: text,
  names: textList,
  releases: { read: (value) => releasesOf(json.read(value)) },
  graceMonths: number,
  updateTime: time("update_time"),
});

/** Returns lifecycles by lower-case name; within a group the latest changed is first. */
export const findLifecycles = (rows: Read, owners: readonly string[], names: readonly string[]): Promise<Lifecycle[]> =>
  lifecycle.find(
    rows,
    `select ${lifecycle.list} from lifecycles where owner = any($1) and names ?| $2::text[] order by owner, lifecycles.update_time desc, feed, product`,
    [owners, names],
  );

/** Like findLifecycles, for all groups at or below `paths` ("" for all) and those in `above`. */
export const findLifecyclesBelow = (rows: Read, paths: readonly string[], above: readonly string[], name: string, count: number): Promise<Lifecycle[]> =>
  lifecycle.find(
    rows,
    `select ${lifecycle.list} from lifecycles where (owner = any($2) or exists (
       select from unnest($1::text[]) as place where place = '' or owner = place or starts_with(owner, place || '/'))) and names ? $3
     order by owner, lifecycles.update_time desc, feed, product limit $4`,
    [paths, above, name, count],
    { rows: count, wide: true },
  );
