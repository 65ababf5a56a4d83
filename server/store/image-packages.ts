// Table image_packages: what images are made of, written by imports and read for what was resolved. Kept for good: what a
// source tells no longer is withdrawn.

import { columns, text } from "./columns.ts";
import { noCounts, ownerGroup } from "./feed-counts.ts";
import { columnOf, type FindTold, lastByKey, recordDigestOf, refreshStatistics, uidSegmentOf, writtenCounts } from "./feed-rows.ts";
import type { Read, Write } from "./handle.ts";
import type { ImagePackagesRecord, RecordTarget, WriteCounts } from "./records.ts";

const packagesJson = ({ packages }: ImagePackagesRecord): string =>
  JSON.stringify(Object.fromEntries(packages.map(({ name, version }): [string, string] => [name, version]).sort(([one], [other]) => (one < other ? -1 : 1))));

const imageKey = columns({ repo: text, tag: text, architecture: text });

/** Writes what is new or made of something else than before. */
export const writeImages = async (rows: Write, target: RecordTarget, records: readonly ImagePackagesRecord[]): Promise<WriteCounts> => {
  const owner = ownerGroup(target);
  const drafts = [...lastByKey(records)]
    .map(([key, record]) => ({ key, record, digest: recordDigestOf(packagesJson(record)) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const written = await writtenCounts.findOne(
    rows,
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
     ) select ${writtenCounts.list} from other`,
    [
      owner,
      target.feed,
      columnOf(drafts, ({ record }) => record.repo),
      columnOf(drafts, ({ record }) => record.tag),
      columnOf(drafts, ({ record }) => record.architecture),
      columnOf(drafts, ({ record }) => packagesJson(record)),
      columnOf(drafts, ({ digest }) => digest),
      new Date(target.nowMs).toISOString(),
    ],
  );
  const { new: made, changed } = written ?? noCounts;
  return { ...noCounts, new: made, changed, unchanged: drafts.length - made - changed };
};

/** Which of these images are everybody's by this feed, by recordKey. */
export const findPublicImages = async (rows: Read, feed: string, images: readonly ImagePackagesRecord[]): Promise<Set<string>> => {
  const found = await imageKey.find(
    rows,
    `select ${imageKey.list} from image_packages
     where owner = '' and feed = $1 and delete_time is null
       and (repo, tag, architecture) in (select * from unnest($2::text[], $3::text[], $4::text[]) as given(repo, tag, architecture))`,
    [feed, columnOf(images, ({ repo }) => repo), columnOf(images, ({ tag }) => tag), columnOf(images, ({ architecture }) => architecture)],
  );
  return new Set(found.map(({ repo, tag, architecture }) => uidSegmentOf(repo, tag, architecture)));
};

/** Withdraws those of a feed whose keys `findTold` does not find. */
export const withdrawImages = async (rows: Write, target: RecordTarget, findTold: FindTold): Promise<number> => {
  const owner = ownerGroup(target);
  const found = await imageKey.find(rows, `select ${imageKey.list} from image_packages where feed = $1 and owner = $2 and delete_time is null`, [
    target.feed,
    owner,
  ]);
  const told = await findTold(found.map(({ repo, tag, architecture }) => uidSegmentOf(repo, tag, architecture)));
  const gone = found.filter(({ repo, tag, architecture }) => !told.has(uidSegmentOf(repo, tag, architecture)));
  if (gone.length === 0) return 0;
  await rows.query(
    `update image_packages as held set delete_time = $5, update_time = greatest($5, update_time + interval '1 ms')
     from unnest($2::text[], $3::text[], $4::text[]) as given(repo, tag, architecture)
     where held.owner = $1 and held.repo = given.repo and held.tag = given.tag and held.architecture = given.architecture`,
    [
      owner,
      columnOf(gone, ({ repo }) => repo),
      columnOf(gone, ({ tag }) => tag),
      columnOf(gone, ({ architecture }) => architecture),
      new Date(target.nowMs).toISOString(),
    ],
  );
  return gone.length;
};

const imagePackages = columns({ owner: text, repo: text, tag: text, packages: text });

/** What an image of a tag is made of, for one architecture. */
export interface ImagePackages {
  /** The group; "" for everybody. */
  readonly owner: string;
  readonly repo: string;
  readonly tag: string;
  readonly packages: Readonly<Record<string, string>>;
}

/** Whose images count. */
export interface ImageOwners {
  /** Those of groups at or below these paths. */
  readonly paths: readonly string[];
  /** Of these groups alone; undefined: of all. */
  readonly groups: readonly string[] | undefined;
  /** Those of everybody too. */
  readonly public: boolean;
}

/** What the images of a tag are made of, architecture by architecture. */
export const findImagePackages = async (rows: Read, owners: ImageOwners, repo: string, tags: readonly string[]): Promise<ImagePackages[]> => {
  const found = await imagePackages.find(
    rows,
    `select ${imagePackages.list} from image_packages where (repo = $1 or short_repo = $1) and tag = any($2) and delete_time is null
       and case when owner = '' then $5 else ($4::text[] is null or owner = any($4))
         and exists (select from unnest($3::text[]) as place where place = '' or owner = place or owner like place || '/%') end`,
    [repo, tags, owners.paths, owners.groups ?? null, owners.public],
  );
  return found.map(({ packages, ...of }) => ({ ...of, packages: JSON.parse(packages) as Record<string, string> }));
};

export const refreshImageStatistics = (rows: Write): Promise<void> => refreshStatistics(rows, "image_packages");
