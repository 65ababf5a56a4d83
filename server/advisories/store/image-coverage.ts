// Tables image_coverage, coverage_counts and advisory_coverage: package ecosystems of tagged images, and the number of images by repo
// (docs/decisions/0074). Written when images are matched; triggers of image_coverage maintain coverage_counts, so that a count
// need not read each image.

import { EVERYWHERE } from "#base/uid.ts";
import type { ImageRepo } from "./affected-images.ts";
import { columns, expression, flag, nullableTimeMs, number, type Read, type RowOf, text, textList, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import { imagesText } from "./image-packages.ts";

const repoColumns = (repos: readonly ImageRepo[]): [string[], string[]] => [columnOf(repos, ({ owner }) => owner), columnOf(repos, ({ repo }) => repo)];

export type CoveredImage = RowOf<typeof coveredImage>;

const coveredImage = columns({
  owner: expression("image.owner", text),
  repo: expression("image.repo", text),
  tag: expression("image.tag", text),
  architecture: expression("image.architecture", text),
  shortRepo: expression("image.short_repo", text),
  repoUid: expression("coalesce(repo.uid, '')", text),
  /** "" if the group has no such tag. */
  digest: expression("coalesce(tag.digest, '')", text),
  identity: expression("coalesce(nullif(tag.digest, ''), image.digest)", text),
  /** "Debian:12", "PyPI". */
  ecosystems: expression("held.ecosystems", textList),
  /** Its packages are from layers of which a part was not read. */
  partlyRead: expression("not image.is_complete", flag),
});

/** Returns the images of these repos, each SBOM and the layers separately. `ecosystems` maps package labels to ecosystems. */
export const findImageEcosystems = (rows: Read, repos: readonly ImageRepo[], ecosystems: ReadonlyMap<string, string>): Promise<CoveredImage[]> =>
  coveredImage.find(
    rows,
    `select ${coveredImage.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral (
       select * from ${imagesText("image.owner = given.owner and image.repo = given.repo")} as each offset 0) as image
     cross join lateral (
       select coalesce(jsonb_agg(distinct $3::jsonb -> key), '[]') as ecosystems
       from jsonb_object_keys(image.packages) as key where $3::jsonb ? key) as held
     left join lateral (
       select uid from repos where left(uid, -17) = image.owner and name collate "POSIX" in (image.repo, image.short_repo)
         and length(uid) = length(image.owner) + 17 order by name <> image.repo limit 1) as repo on true
     left join lateral (
       select digest from tags where left(uid, -17) = repo.uid and name collate "POSIX" = image.tag limit 1) as tag on true`,
    [...repoColumns(repos), JSON.stringify(Object.fromEntries(ecosystems))],
  );

/** Replaces the images of these repos. */
export const writeImageCoverage = async (rows: Write, repos: readonly ImageRepo[], images: readonly CoveredImage[]): Promise<void> => {
  const values = [
    columnOf(images, ({ owner }) => owner),
    columnOf(images, ({ repo }) => repo),
    columnOf(images, ({ tag }) => tag),
    columnOf(images, ({ architecture }) => architecture),
  ];
  await rows.query(
    `delete from image_coverage as held using unnest($1::text[], $2::text[]) as given(owner, repo)
     where held.owner = given.owner and held.repo = given.repo and not exists (
       select from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as image(owner, repo, tag, architecture)
       where image.owner = held.owner and image.repo = held.repo and image.tag = held.tag and image.architecture = held.architecture)`,
    [...repoColumns(repos), ...values],
  );
  if (images.length === 0) return;
  await rows.query(
    `insert into image_coverage as held (owner, repo, tag, architecture, short_repo, repo_uid, digest, identity, ecosystems, partly_read)
     select distinct on (owner, repo, tag, architecture) owner, repo, tag, architecture, short_repo, repo_uid, digest, identity, ecosystems::jsonb,
       partly_read = 'true'
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
       as given(owner, repo, tag, architecture, short_repo, repo_uid, digest, identity, ecosystems, partly_read)
     order by owner, repo, tag, architecture, ecosystems
     on conflict (owner, repo, tag, architecture) do update set short_repo = excluded.short_repo, repo_uid = excluded.repo_uid,
       digest = excluded.digest, identity = excluded.identity, ecosystems = excluded.ecosystems, partly_read = excluded.partly_read
     where (held.repo_uid, held.digest, held.identity, held.ecosystems, held.partly_read)
       is distinct from (excluded.repo_uid, excluded.digest, excluded.identity, excluded.ecosystems, excluded.partly_read)`,
    [
      ...values,
      columnOf(images, ({ shortRepo }) => shortRepo),
      columnOf(images, ({ repoUid }) => repoUid),
      columnOf(images, ({ digest }) => digest),
      columnOf(images, ({ identity }) => identity),
      columnOf(images, ({ ecosystems }) => JSON.stringify(ecosystems)),
      columnOf(images, ({ partlyRead }) => String(partlyRead)),
    ],
  );
};

export const deleteImageCoverageExcept = async (rows: Write, root: string, repos: readonly ImageRepo[]): Promise<void> => {
  await rows.query(
    `delete from image_coverage where owner >= $1 and owner < $1 || '0' and not exists (
       select from unnest($2::text[], $3::text[]) as given(owner, repo) where given.owner = image_coverage.owner and given.repo = image_coverage.repo)`,
    [root, ...repoColumns(repos)],
  );
};

/** Updates the image counts by group, ecosystem and release. */
export const refreshAdvisoryCoverage = async (rows: Write, root: string): Promise<void> => {
  await rows.query(
    `with counted as (
       select owner || '/' || left(encode(sha256(convert_to(named.key, 'UTF8')), 'hex'), 16) as uid, split_part(named.key, ':', 1) as ecosystem,
         split_part(named.key, ':', 2) as release, sum(image_count) as images
       from coverage_counts as counted cross join jsonb_array_elements_text(ecosystems) as named(key)
       where owner >= $1 and owner < $1 || '0' group by owner, named.key
     ), gone as (
       delete from advisory_coverage where left(uid, 40) = $1 and uid not in (select uid from counted)
     )
     insert into advisory_coverage as held (uid, ecosystem, release, image_count) select uid, ecosystem, release, images from counted
     on conflict (uid) do update set image_count = excluded.image_count where held.image_count <> excluded.image_count`,
    [root],
  );
};

export type GroupEcosystem = RowOf<typeof groupEcosystem>;

const groupEcosystem = columns({
  uid: expression("held.uid", text),
  ecosystem: expression("held.ecosystem", text),
  release: expression("held.release", text),
});

/** What events have said about an ecosystem of a group; "" if it was never judged. */
export type ReportedCoverage = "" | "JUDGED" | "LOST";

export type CheckedEcosystem = RowOf<typeof checkedEcosystem>;

const checkedEcosystem = columns({
  uid: expression("held.uid", text),
  ecosystem: expression("held.ecosystem", text),
  release: expression("held.release", text),
  reported: expression("held.reported", text),
  /** Since when no source judges it, without an event yet. */
  unjudgedMs: nullableTimeMs("held.unjudged_since"),
});

/** Returns rows of all organizations after a uid, in the order of their uids. */
export const findCheckedEcosystems = (rows: Read, afterUid: string, limit: number): Promise<CheckedEcosystem[]> =>
  checkedEcosystem.find(rows, `select ${checkedEcosystem.list} from advisory_coverage as held where uid > $1 order by uid limit $2`, [afterUid, limit]);

export const findCheckedEcosystemsOf = (rows: Read, root: string): Promise<CheckedEcosystem[]> =>
  checkedEcosystem.find(rows, `select ${checkedEcosystem.list} from advisory_coverage as held where left(uid, 40) = $1 order by uid`, [root]);

export interface CoverageReport {
  readonly uid: string;
  readonly reported: ReportedCoverage;
  readonly unjudgedMs: number | undefined;
}

export const writeCoverageReports = async (rows: Write, reports: readonly CoverageReport[]): Promise<void> => {
  await rows.query(
    `update advisory_coverage as held set reported = given.reported, unjudged_since = nullif(given.since, '')::timestamptz
     from unnest($1::text[], $2::text[], $3::text[]) as given(uid, reported, since) where held.uid = given.uid`,
    [
      columnOf(reports, ({ uid }) => uid),
      columnOf(reports, ({ reported }) => reported),
      columnOf(reports, ({ unjudgedMs }) => (unjudgedMs === undefined ? "" : new Date(unjudgedMs).toISOString())),
    ],
  );
};

const imageCount = columns({ images: expression("coalesce(sum(image_count), 0)", number) });

/** Counts a group's images with packages of any of these ecosystems, without the groups below. */
export const countImagesWith = async (rows: Read, owner: string, keys: readonly string[]): Promise<number> =>
  (await imageCount.findOne(rows, `select ${imageCount.list} from coverage_counts where owner = $1 and ecosystems ?| $2::text[]`, [owner, keys]))?.images ?? 0;

/** One group, or one with its descendants. */
export interface CoveragePlace {
  /** `low` is inclusive, `high` exclusive. */
  readonly low: string;
  readonly high: string;
  /** Upper bound of all uids in these groups. */
  readonly end: string;
}

/** Returns the range of a group and its descendants; EVERYWHERE for all. */
export const placeBelow = (path: string): CoveragePlace => {
  const end = path === EVERYWHERE ? "~" : `${path}0`;
  return { low: path, high: end, end };
};

export const placeOnly = (path: string): CoveragePlace => ({ ...placeBelow(path), high: `${path}!` });

// $1 to $3: disjoint ranges. Read one by one, because without statistics the planner would read all rows.
export const placesText = "unnest($1::text[], $2::text[], $3::text[]) as place(low, high, finish)";

export const placeParams = (places: readonly CoveragePlace[]): [string[], string[], string[]] => [
  columnOf(places, ({ low }) => low),
  columnOf(places, ({ high }) => high),
  columnOf(places, ({ end }) => end),
];

export const findGroupEcosystems = (rows: Read, places: readonly CoveragePlace[], limit: number): Promise<GroupEcosystem[]> =>
  groupEcosystem.find(
    rows,
    `select ${groupEcosystem.list} from ${placesText} cross join lateral (
       select * from advisory_coverage where uid > place.low and uid < place.finish and left(uid, -17) >= place.low and left(uid, -17) < place.high
       offset 0) as held
     order by held.uid limit $4`,
    [...placeParams(places), limit],
    { rows: limit, wide: true },
  );

/** An image for which no source covers all ecosystems. */
export interface UnjudgedImage {
  readonly owner: string;
  readonly repo: string;
  readonly repoUid: string;
  readonly digest: string;
  readonly tags: readonly string[];
  readonly architectures: readonly string[];
  /** Of the requested ones. */
  readonly ecosystems: readonly string[];
  readonly partlyRead: boolean;
}

export const unjudgedColumns = {
  owner: expression("found.owner", text),
  repo: expression("found.repo", text),
  repoUid: expression("found.repo_uid", text),
  digest: expression("found.digest", text),
  tags: expression("found.tags", textList),
  architectures: expression("found.architectures", textList),
  ecosystems: expression("found.ecosystems", textList),
  partlyRead: expression("found.partly_read", flag),
};

const unjudgedImage = columns<UnjudgedImage>(unjudgedColumns);

// $4 and $5: a group, and an ecosystem with its release.
const gapsText = "(select owner, array_agg(key) as keys from unnest($4::text[], $5::text[]) as given(owner, key) group by owner) as gap";

// The image has packages of an ecosystem that no source judges.
const hasGap = "coalesce(image.ecosystems ?| gap.keys, false)";

export type GroupGaps = readonly { readonly owner: string; readonly key: string }[];

const gapParams = (gaps: GroupGaps): [string[], string[]] => [columnOf(gaps, ({ owner }) => owner), columnOf(gaps, ({ key }) => key)];

/** Returns images that have packages of these ecosystems, no packages, or layers that were not read. Each repo that is read has one. */
export const findImagesWith = (rows: Read, places: readonly CoveragePlace[], gaps: GroupGaps, limit: number): Promise<UnjudgedImage[]> =>
  unjudgedImage.find(
    rows,
    `with gap as materialized (select * from ${gapsText}),
     having_gap as materialized (
       select each.* from ${placesText} cross join lateral (
         select distinct image.owner, image.repo from coverage_counts as image left join gap on gap.owner = image.owner
         where image.owner >= place.low and image.owner < place.high and (image.incomplete or ${hasGap})
         order by image.owner, image.repo limit $6) as each)
     select ${unjudgedImage.list} from having_gap cross join lateral (
       select image.owner, image.repo, image.identity, max(image.repo_uid) as repo_uid, max(image.digest) as digest,
         jsonb_agg(distinct image.tag) as tags, jsonb_agg(distinct image.architecture) filter (where image.architecture <> '') as architectures,
         jsonb_agg(distinct named.key) filter (where named.key is not null) as ecosystems, bool_or(image.partly_read) as partly_read
       from image_coverage as image left join gap on gap.owner = image.owner
       left join lateral unnest(gap.keys) as named(key) on image.ecosystems ? named.key
       where image.owner = having_gap.owner and image.repo = having_gap.repo and (image.ecosystems = '[]' or image.partly_read or ${hasGap})
       group by image.owner, image.repo, image.identity order by image.owner, image.repo, image.identity limit $6) as found
     order by found.owner, found.repo, found.identity limit $6`,
    [...placeParams(places), ...gapParams(gaps), limit],
    { rows: limit, wide: true },
  );

export type KnownImages = RowOf<typeof knownImages>;

const knownImages = columns({
  known: expression("coalesce(sum(counted.known), 0)", number),
  /** With packages of the requested ecosystems, without packages, or partly read. */
  unjudged: expression("coalesce(sum(counted.unjudged), 0)", number),
});

export const countKnownImages = async (rows: Read, places: readonly CoveragePlace[], gaps: GroupGaps): Promise<KnownImages> => {
  const found = await knownImages.findOne(
    rows,
    `select ${knownImages.list} from ${placesText} cross join lateral (
       select sum(image.image_count) as known, sum(image.image_count) filter (where image.incomplete or ${hasGap}) as unjudged
       from coverage_counts as image left join ${gapsText} on gap.owner = image.owner
       where image.owner >= place.low and image.owner < place.high) as counted`,
    [...placeParams(places), ...gapParams(gaps)],
    { rows: 1, wide: true },
  );
  return found ?? { known: 0, unjudged: 0 };
};

const imageEcosystem = columns({
  owner: expression("image.owner", text),
  repo: expression("image.repo", text),
  tag: expression("image.tag", text),
  ecosystems: expression("image.ecosystems", textList),
  partlyRead: expression("image.partly_read", flag),
});

export type TagEcosystems = RowOf<typeof imageEcosystem>;

export const findTagEcosystems = (rows: Read, tags: readonly (ImageRepo & { readonly tag: string })[]): Promise<TagEcosystems[]> =>
  imageEcosystem.find(
    rows,
    `select ${imageEcosystem.list} from unnest($1::text[], $2::text[], $3::text[]) as given(owner, repo, tag)
     join image_coverage as image on image.owner = given.owner and image.repo = given.repo and image.tag = given.tag`,
    [...repoColumns(tags), columnOf(tags, ({ tag }) => tag)],
  );

const digestEcosystem = columns({
  repoUid: expression("image.repo_uid", text),
  digest: expression("image.digest", text),
  ecosystems: expression("image.ecosystems", textList),
  partlyRead: expression("image.partly_read", flag),
});

export type DigestEcosystems = RowOf<typeof digestEcosystem>;

/** Returns the ecosystems of those images that are tagged. */
export const findDigestEcosystems = (rows: Read, images: readonly { readonly repoUid: string; readonly digest: string }[]): Promise<DigestEcosystems[]> =>
  digestEcosystem.find(
    rows,
    `select distinct ${digestEcosystem.list} from unnest($1::text[], $2::text[]) as given(repo_uid, digest)
     join image_coverage as image on image.repo_uid = given.repo_uid and image.digest = given.digest`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );
