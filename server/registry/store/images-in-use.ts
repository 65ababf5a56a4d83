// Table images_in_use: images that clients have reported as in use, until the reports expire.

import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, number, type Read, type Retention, type RowOf, text, time, type Write } from "#db";

export interface ReportedImage {
  readonly repo: string;
  /** Digest or tag can be "", not both. */
  readonly digest: string;
  readonly tag: string;
}

/** A shorter report of the same source replaces a longer one. */
export const writeImagesInUse = async (rows: Write, images: readonly ReportedImage[], source: string, nowMs: number, untilMs: number): Promise<void> => {
  await rows.query(
    `insert into images_in_use (repo_uid, digest, tag, source, report_time, expire_time)
     select distinct repo, digest, tag, $4, $5::timestamptz, $6::timestamptz from unnest($1::text[], $2::text[], $3::text[]) as given(repo, digest, tag)
     order by 1, 2, 3
     on conflict (repo_uid, digest, tag, source) do update set report_time = excluded.report_time, expire_time = excluded.expire_time`,
    [images.map(({ repo }) => repo), images.map(({ digest }) => digest), images.map(({ tag }) => tag), source, timestamp(nowMs), timestamp(untilMs)],
  );
};

const total = columns({ count: expression("count(*)", number) });

const within = "(repo_uid = $1 or (repo_uid > $1 || '/' and repo_uid < $1 || '0'))";

/** Counts expired ones too. */
export const countImagesInUse = async (rows: Read, place: string): Promise<number> =>
  (await total.findOne(rows, `select ${total.list} from images_in_use where ${within}`, [place]))?.count ?? 0;

export type ImageInUse = RowOf<typeof imageInUse>;

const imageInUse = columns({ repoUid: text, digest: text, tag: text, source: text, reportTime: time("report_time"), expireTime: time("expire_time") });

export const findImagesInUse = async (
  rows: Read,
  place: string,
  nowMs: number,
  { order, after, skip, limit, total: known }: PageRequest,
): Promise<{ readonly images: readonly ImageInUse[]; readonly total: number }> => {
  const direction = order.descending ? "desc" : "asc";
  const [repo = "", digest = "", tag = "", source = ""] = after ?? [];
  const [images, counted] = await Promise.all([
    imageInUse.find(
      rows,
      `select ${imageInUse.list} from images_in_use where ${within} and images_in_use.expire_time > $2
         and ($3 or (repo_uid, digest, tag, source) ${order.descending ? "<" : ">"} ($4, $5, $6, $7))
       order by repo_uid ${direction}, digest ${direction}, tag ${direction}, source ${direction} limit $8 offset $9`,
      [place, timestamp(nowMs), after === undefined, repo, digest, tag, source, limit, skip],
      { rows: limit, wide: false },
    ),
    known ??
      total
        .findOne(rows, `select ${total.list} from images_in_use where ${within} and images_in_use.expire_time > $2`, [place, timestamp(nowMs)])
        .then((found) => found?.count ?? 0),
  ]);
  return { images, total: counted };
};

/** An image as tags point at it: for an image of one platform, the index that lists it. */
export interface DigestInRepo {
  readonly repoUid: string;
  readonly digest: string;
}

const digestInRepo = columns<DigestInRepo>({ repoUid: text, digest: text });

/** `named` has repo_uid, digest and tag, either of them can be "". A name with a digest ignores its tag. */
const digestsText = (named: string): string => `
  select repo_uid, digest from ${named} where digest <> ''
  union
  select named.repo_uid, tags.digest from ${named} as named
  join tags on left(tags.uid, -17) = named.repo_uid and tags.name collate "POSIX" = named.tag where named.digest = '' and tags.digest <> ''
  union
  select named.repo_uid, listed.sha256 from ${named} as named
  join repo_manifests as image on image.repo_uid = named.repo_uid and image.sha256 = named.digest
  join manifest_children as listed on listed.repo_uid = named.repo_uid and listed.child in (image.sha256, image.sha512)`;

/** `low` is inclusive, `high` exclusive. */
export interface RepoRange {
  readonly low: string;
  readonly high: string;
}

/** Returns the images in use in these ranges of repos. */
export const findDigestsInUse = (rows: Read, ranges: readonly RepoRange[], nowMs: number): Promise<DigestInRepo[]> =>
  digestInRepo.find(
    rows,
    `with reported as materialized (
       select distinct reported.* from unnest($1::text[], $2::text[]) as given(low, high)
       cross join lateral (
         select repo_uid, digest, tag from images_in_use
         where repo_uid >= given.low and repo_uid < given.high and images_in_use.expire_time > $3 offset 0) as reported
     ) select ${digestInRepo.list} from (${digestsText("reported")}) as found`,
    [ranges.map(({ low }) => low), ranges.map(({ high }) => high), timestamp(nowMs)],
    { rows: 1, wide: true },
  );

/** Returns the images that these names name; a digest must be in the repo, or a tag must point at it. */
export const findNamedDigests = (rows: Read, images: readonly ReportedImage[]): Promise<DigestInRepo[]> =>
  digestInRepo.find(
    rows,
    `with given as materialized (
       select * from unnest($1::text[], $2::text[], $3::text[]) as given(repo_uid, digest, tag)
       where digest = '' or exists (select from repo_manifests where repo_manifests.repo_uid = given.repo_uid and sha256 = given.digest)
         or exists (select from tags where left(tags.uid, -17) = given.repo_uid and tags.digest = given.digest)
     ) select ${digestInRepo.list} from (${digestsText("given")}) as found`,
    [images.map(({ repo }) => repo), images.map(({ digest }) => digest), images.map(({ tag }) => tag)],
  );

/** Returns those that a tag points at. */
export const findTaggedDigests = (rows: Read, images: readonly DigestInRepo[]): Promise<DigestInRepo[]> =>
  digestInRepo.find(
    rows,
    `select distinct ${digestInRepo.list} from unnest($1::text[], $2::text[]) as given(repo_uid, digest)
     where exists (select from tags where left(tags.uid, -17) = given.repo_uid and tags.digest = given.digest)`,
    [images.map(({ repoUid }) => repoUid), images.map(({ digest }) => digest)],
  );

export const imagesInUseRetention: Retention = {
  table: "images_in_use",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "images_in_use", where: "expire_time <= $1", order: "expire_time" }, [timestamp(nowMs)]),
};
