// What images are made of, and which package is built from which: written by imports, read for what was resolved.

import { column, digestOf, lastOfEach, nothing, segmentOf } from "./feed-rows.ts";
import type { Write } from "./handle.ts";
import type { ImagePackagesRecord, PackageOriginRecord, RecordTarget, Written } from "./records.ts";
import { ownerOf } from "./vulnerabilities.ts";

const packagesOf = ({ packages }: ImagePackagesRecord): string =>
  JSON.stringify(Object.fromEntries(packages.map(({ name, version }): [string, string] => [name, version]).sort(([one], [other]) => (one < other ? -1 : 1))));

/** Writes what is new or made of something else than before. */
export const writeImages = async (rows: Write, target: RecordTarget, records: readonly ImagePackagesRecord[]): Promise<Written> => {
  const owner = ownerOf(target);
  const drafts = [...lastOfEach(records)]
    .map(([key, record]) => ({ key, record, digest: digestOf(packagesOf(record)) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const written = await rows.query(
    `with given as (
       select * from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as given(repo, tag, architecture, packages, digest)
     ), other as (
       select given.*, held.repo is null as fresh from given left join image_packages as held
       on held.owner = $1 and held.repo = given.repo and held.tag = given.tag and held.architecture = given.architecture
       where held.digest is distinct from given.digest or held.delete_time is not null
     ), written as (
       insert into image_packages as held (owner, repo, tag, architecture, packages, feed, digest, create_time, update_time)
       select $1, repo, tag, architecture, packages::jsonb, $2, digest, $8::timestamptz, $8::timestamptz from other
       on conflict (owner, repo, tag, architecture) do update set packages = excluded.packages, feed = excluded.feed,
         digest = excluded.digest, delete_time = null, update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')
       returning 1
     ) select count(*) filter (where fresh), count(*) filter (where not fresh) from other`,
    [
      owner,
      target.feed,
      column(drafts, ({ record }) => record.repo),
      column(drafts, ({ record }) => record.tag),
      column(drafts, ({ record }) => record.architecture),
      column(drafts, ({ record }) => packagesOf(record)),
      column(drafts, ({ digest }) => digest),
      new Date(target.nowMs).toISOString(),
    ],
  );
  const fresh = Number(written[0]?.[0] ?? 0);
  const changed = Number(written[0]?.[1] ?? 0);
  return { ...nothing, new: fresh, changed, unchanged: drafts.length - fresh - changed };
};

/** Withdraws those of a feed that `seen` does not know. */
export const withdrawImages = async (rows: Write, target: RecordTarget, seen: (key: string) => boolean): Promise<number> => {
  const owner = ownerOf(target);
  const found = await rows.query("select repo, tag, architecture from image_packages where feed = $1 and owner = $2 and delete_time is null", [
    target.feed,
    owner,
  ]);
  const gone = found.filter(([repo, tag, architecture]) => !seen(segmentOf(repo ?? "", tag ?? "", architecture ?? "")));
  if (gone.length === 0) return 0;
  await rows.query(
    `update image_packages as held set delete_time = $5, update_time = greatest($5, update_time + interval '1 ms')
     from unnest($2::text[], $3::text[], $4::text[]) as given(repo, tag, architecture)
     where held.owner = $1 and held.repo = given.repo and held.tag = given.tag and held.architecture = given.architecture`,
    [
      owner,
      column(gone, ([repo]) => repo ?? ""),
      column(gone, ([, tag]) => tag ?? ""),
      column(gone, ([, , architecture]) => architecture ?? ""),
      new Date(target.nowMs).toISOString(),
    ],
  );
  return gone.length;
};

/** Writes which package is built from which; the latest word counts. */
export const writeOrigins = async (rows: Write, target: RecordTarget, records: readonly PackageOriginRecord[]): Promise<Written> => {
  const drafts = [...lastOfEach(records).values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  const written = await rows.query(
    `with given as (select * from unnest($1::text[], $2::text[]) as given(name, origin)),
     other as (select given.*, held.name is null as fresh from given left join package_origins as held using (name) where held.origin is distinct from given.origin),
     written as (insert into package_origins (name, origin, feed) select name, origin, $3 from other
       on conflict (name) do update set origin = excluded.origin, feed = excluded.feed returning 1)
     select count(*) filter (where fresh), count(*) filter (where not fresh) from other`,
    [column(drafts, ({ name }) => name), column(drafts, ({ origin }) => origin), target.feed],
  );
  const fresh = Number(written[0]?.[0] ?? 0);
  const changed = Number(written[0]?.[1] ?? 0);
  return { ...nothing, new: fresh, changed, unchanged: drafts.length - fresh - changed };
};
