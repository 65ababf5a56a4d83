// Table image_contents: the packages in the layers of pushed images. Triggers of repo_manifests insert and delete its rows, so that a
// push needs no statement for it; server/application/image-indexing.ts reads the images.

import type { JsonObject } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { columns, expression, json, nullableObject, number, type Read, type RowOf, text, textList, time, wideCount, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import { type ImageLayers, writeImageLayers } from "./image-layers.ts";

/** Packages of these states count as the image's. */
export const knownContentsText = "('IMAGE_CONTENTS_STATE_INDEXED', 'IMAGE_CONTENTS_STATE_PARTIAL')";

/** The number of tries identifies the claim. */
export type DueContents = RowOf<typeof dueContents>;

const dueContents = columns({
  uid: expression("held.uid", text),
  repoUid: expression("held.repo_uid", text),
  digest: expression("held.digest", text),
  tries: expression("held.tries", number),
});

// Steps from one organization to the next, so that the images in a queue cost nothing.
const dueText = `due(root) as (
    select min(left(uid, 40)) from image_contents where due_time is not null
    union all
    select (select min(left(uid, 40)) from image_contents where due_time is not null and left(uid, 40) > due.root) from due where due.root is not null
  ), next as (
    select due.root, held.uid from due cross join lateral (
      select uid from image_contents where left(uid, 40) = due.root and due_time <= $1 order by left(uid, 40) desc, due_time desc, uid desc limit 1) as held
    where due.root is not null
  )`;

/**
 * Claims a due image until `untilMs`, the last pushed first. `served` has organizations by last service; the least recently served is
 * next. Returns undefined also if another server claims it at the same time.
 */
export const claimContents = (rows: Write, served: readonly string[], nowMs: number, untilMs: number): Promise<DueContents | undefined> =>
  dueContents.findOne(
    rows,
    `with recursive ${dueText}, chosen as (select uid from next order by coalesce(array_position($2::text[], root), 0), root limit 1)
     update image_contents as held set due_time = $3, tries = held.tries + 1
     where held.uid = (select uid from image_contents where uid = (select uid from chosen) and due_time <= $1 for update skip locked)
     returning ${dueContents.list}`,
    [new Date(nowMs).toISOString(), served, new Date(untilMs).toISOString()],
  );

export const isContentsDue = async (rows: Read, nowMs: number): Promise<boolean> => {
  const [row] = await rows.query(`with recursive ${dueText} select exists (select from next)`, [new Date(nowMs).toISOString()]);
  return row?.[0] === "t";
};

/** Returns true if an image of another organization is due. */
export const isOthersContentsDue = async (rows: Read, root: string, nowMs: number): Promise<boolean> => {
  const [row] = await rows.query(`with recursive ${dueText} select exists (select from next where root <> $2)`, [new Date(nowMs).toISOString(), root]);
  return row?.[0] === "t";
};

/** Sets when the image is due; returns false if another server has claimed it since. */
export const postponeContents = async (rows: Write, { uid, tries }: DueContents, untilMs: number): Promise<boolean> => {
  const held = await rows.query("update image_contents set due_time = $3 where uid = $1 and tries = $2 and due_time is not null returning 1", [
    uid,
    tries,
    new Date(untilMs).toISOString(),
  ]);
  return held.length > 0;
};

/** Sets when images that are still claimed are due. */
export const holdContents = async (rows: Write, images: readonly DueContents[], untilMs: number): Promise<void> => {
  await rows.query(
    `update image_contents as held set due_time = $3 from unnest($1::text[], $2::integer[]) as given(uid, tries)
     where held.uid = given.uid and held.tries = given.tries and held.due_time is not null`,
    [columnOf(images, ({ uid }) => uid), columnOf(images, ({ tries }) => String(tries)), new Date(untilMs).toISOString()],
  );
};

/** Returns the image to the queue as if it had not been claimed, due at this time. */
export const releaseContents = async (rows: Write, { uid, tries }: DueContents, dueMs: number): Promise<void> => {
  await rows.query("update image_contents set due_time = $3, tries = tries - 1 where uid = $1 and tries = $2 and due_time is not null", [
    uid,
    tries,
    new Date(dueMs).toISOString(),
  ]);
};

export const isContentsOutdated = async (rows: Read, readerVersion: number): Promise<boolean> => {
  const [row] = await rows.query(
    `select exists (select from image_contents where due_time is null and reader_version < $1)
       or exists (select from image_contents where due_time is null and not layers_written)`,
    [readerVersion],
  );
  return row?.[0] === "t";
};

/** Queues images of older readers, and images without stored layers; they keep their packages meanwhile. */
export const requeueContents = async (rows: Write, readerVersion: number, nowMs: number, count: number): Promise<void> => {
  await rows.query(
    `update image_contents set due_time = $2, tries = 0 where uid = any(array(
         select uid from image_contents where due_time is null and reader_version < $1 order by reader_version limit $3 for update))
       or uid = any(array(select uid from image_contents where due_time is null and not layers_written order by uid limit $3 for update))`,
    [readerVersion, new Date(nowMs).toISOString(), count],
  );
};

/** Images to read again; those that are queued already are not among them. */
export interface ImagesToQueue {
  /** Uid of a repo; "" for all. */
  readonly repoUid: string;
  /** Last read before this time. */
  readonly readBeforeMs: number;
}

const toQueue = "due_time is null and ($1 = '' or repo_uid = $1) and update_time < $2";

export const countImagesToQueue = async (rows: Read, { repoUid, readBeforeMs }: ImagesToQueue): Promise<number> => {
  const [row] = await rows.query(`select count(*) from image_contents where ${toQueue}`, [repoUid, new Date(readBeforeMs).toISOString()], wideCount);
  return Number(row?.[0] ?? 0);
};

/** The next images in the order of uids. */
export type QueuedImage = RowOf<typeof queuedImage>;

const queuedImage = columns({ uid: expression("held.uid", text), repoUid: expression("held.repo_uid", text), digest: expression("held.digest", text) });

/** Queues up to `count` images after the one with the uid `after`; they keep their packages meanwhile. */
export const queueImages = (rows: Write, { repoUid, readBeforeMs }: ImagesToQueue, after: string, nowMs: number, count: number): Promise<QueuedImage[]> =>
  queuedImage.find(
    rows,
    `update image_contents as held set due_time = $3, tries = 0 where uid = any(array(
       select uid from image_contents where ${toQueue} and uid > $4 order by uid limit $5 for update))
     returning ${queuedImage.list}`,
    [repoUid, new Date(readBeforeMs).toISOString(), new Date(nowMs).toISOString(), after, count],
    { rows: count, wide: false },
  );

const platformText = `coalesce((
  select concat_ws('/', manifest.os, manifest.architecture, nullif(manifest.variant, '')) from manifests as manifest
  where manifest.repo_uid = held.repo_uid and manifest.index_digest = held.digest and manifest.digest = held.digest limit 1), '')`;

export interface ContentsResult {
  readonly state: "INDEXED" | "PARTIAL" | "UNSUPPORTED" | "FAILED";
  /** JSON: versions by package name. */
  readonly packages: string;
  readonly packageCount: number;
  /** JSON: the listed problems. */
  readonly problems: string;
  readonly problemCount: number;
  /** JSON; "" if unknown. */
  readonly operatingSystem: string;
  readonly readerVersion: number;
  /** Undefined if nothing was read. */
  readonly layers: ImageLayers | undefined;
}

/** The SBOM that the server attached to an image, by an SBOM rule. */
export interface AttachedSbom {
  readonly state: "NONE" | "ATTACHED" | "QUOTA_EXCEEDED" | "TOO_LARGE";
  /** Of its manifest; "" if there is none. */
  readonly digest: string;
}

/** Of an image that gets the state $3. */
const coverageText = `case
  when $3 in ('IMAGE_CONTENTS_STATE_INDEXED', 'IMAGE_CONTENTS_STATE_UNSUPPORTED') then
    case when held.coverage in ('LOST', 'REGAINED') then 'REGAINED' else '' end
  when held.coverage in ('LOST', 'REGAINED') then 'LOST'
  when held.coverage = 'LOSING' or held.state = 'IMAGE_CONTENTS_STATE_INDEXED' then 'LOSING'
  else '' end`;

/** Stores the result; returns false if another server has claimed the image since. */
export const completeContents = async (
  rows: Write,
  { uid, tries }: DueContents,
  result: ContentsResult,
  sbom: AttachedSbom,
  nowMs: number,
): Promise<boolean> => {
  const held = await rows.query(
    `update image_contents as held set state = $3, packages = $4::jsonb, package_count = $5, problems = $6::jsonb, problem_count = $7,
       operating_system = nullif($8, '')::jsonb, reader_version = $9, due_time = null, tries = 0,
       platform = ${platformText}, sbom_state = $11, sbom_digest = $12, coverage = ${coverageText},
       layers_written = true,
       update_time = greatest($10::timestamptz, update_time + interval '1 ms')
     where uid = $1 and tries = $2 and due_time is not null returning 1`,
    [
      uid,
      tries,
      `IMAGE_CONTENTS_STATE_${result.state}`,
      result.packages,
      result.packageCount,
      result.problems,
      result.problemCount,
      result.operatingSystem,
      result.readerVersion,
      new Date(nowMs).toISOString(),
      `ATTACHED_SBOM_STATE_${sbom.state}`,
      sbom.digest,
    ],
  );
  if (held.length > 0 && result.layers) writeImageLayers(rows, uid, result.layers);
  return held.length > 0;
};

/** What the SBOM of an image states besides its packages. */
export type DescribedImage = RowOf<typeof describedImage>;

const describedImage = columns({
  platform: expression(platformText, text),
  createTime: time("held.create_time"),
  repoName: expression("repos.name", text),
  /** Of the manifest of the SBOM that is attached; "" if none is. */
  sbomDigest: expression("held.sbom_digest", text),
});

export const findDescribedImage = (rows: Read, { uid }: Pick<DueContents, "uid">): Promise<DescribedImage | undefined> =>
  describedImage.findOne(rows, `select ${describedImage.list} from image_contents as held join repos on repos.uid = held.repo_uid where held.uid = $1`, [uid]);

export interface StoredSystem {
  /** Of the column `system`. */
  readonly key: string;
  /** Uid of the repo's group. */
  readonly group: string;
  readonly system: JsonObject;
}

/**
 * Returns each operating system of images in groups and repos with these uids, or below, once for each group; "" means everywhere. Steps
 * from one to the next, so that the number of images costs nothing. Groups of named repos are included.
 */
export const findSystems = async (rows: Read, places: readonly string[]): Promise<StoredSystem[]> => {
  const ranges = places.flatMap((place): (readonly [string, string])[] =>
    place === ""
      ? [["", "~"]]
      : [
          [place, `${place}0`],
          [`${parentOf(place)}\u001f`, `${parentOf(place)} `],
        ],
  );
  const found = await rows.query(
    `with recursive place as (select * from unnest($1::text[], $2::text[]) as place(low, high)), found(system, high) as (
       select (select min(system) from image_contents where system is not null and system >= place.low and system < place.high), place.high from place
       union all
       select (select min(system) from image_contents where system is not null and system > found.system and system < found.high), found.high
       from found where found.system is not null
     ) select distinct system from found where system is not null`,
    [ranges.map(([low]) => low), ranges.map(([, high]) => high)],
    wideCount,
  );
  return found.map(([key]) => {
    const [group = "", id = "", version = "", name = ""] = (key ?? "").split("\u001f");
    return { key: key ?? "", group, system: { id, version, name } };
  });
};

/** The operating system of one platform of an image. */
export type PlatformSystem = RowOf<typeof platformSystem>;

const platformSystem = columns({
  repoUid: expression("given.repo_uid", text),
  imageDigest: expression("given.digest", text),
  digest: expression("contents.digest", text),
  platform: expression("contents.platform", text),
  operatingSystem: expression("contents.operating_system", nullableObject),
});

/** Returns the operating systems of these images and of their platforms. */
export const findSystemsBehind = (rows: Read, images: readonly { readonly repoUid: string; readonly digest: string }[]): Promise<PlatformSystem[]> =>
  platformSystem.find(
    rows,
    `select ${platformSystem.list} from (select distinct * from unnest($1::text[], $2::text[]) as each(repo_uid, digest)) as given
     cross join lateral (
       select contents.digest, contents.platform, contents.operating_system from image_contents as contents
       where contents.repo_uid = given.repo_uid and contents.digest in (
         select given.digest union select manifest.digest from manifests as manifest
         where manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest)
     ) as contents order by given.repo_uid, given.digest, contents.platform, contents.digest`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );

/** Returns the digest of the manifest of the SBOM that the server attached to an image. */
export const findAttachedSbom = async (rows: Read, repoUid: string, digest: string): Promise<string | undefined> => {
  const [row] = await rows.query("select nullif(sbom_digest, '') from image_contents where repo_uid = $1 and digest = $2", [repoUid, digest]);
  return row?.[0] ?? undefined;
};

/**
 * Queues up to `count` images without an SBOM below a repo or group, after the one with the uid `after`. An image that is being read is
 * read again, since its reader may not know the rule. Returns the uid of the last one; undefined if no further one exists.
 */
export const queueImagesWithoutSbom = async (rows: Write, place: string, after: string, nowMs: number, count: number): Promise<string | undefined> => {
  const queued = await rows.query(
    // A step has a number of images, whether they have an SBOM or not.
    `with step as materialized (
       select uid from image_contents where uid > $2 and uid > $1 || '/' and uid < $1 || '0' order by uid limit $4 for update
     ), queued as (
       update image_contents as held set due_time = least(held.due_time, $3::timestamptz), tries = 0 from step where held.uid = step.uid
         and held.state not in ('IMAGE_CONTENTS_STATE_UNSUPPORTED', 'IMAGE_CONTENTS_STATE_FAILED') and held.sbom_state <> 'ATTACHED_SBOM_STATE_ATTACHED'
     ) select max(uid), count(*) from step`,
    [place, after, new Date(nowMs).toISOString(), count],
  );
  const [last, found] = queued[0] ?? [];
  return Number(found) < count ? undefined : (last ?? undefined);
};

const overQuota = "sbom_state = 'ATTACHED_SBOM_STATE_QUOTA_EXCEEDED' and due_time is null and update_time < $1";

/** Returns true if images were last read before this time, and their SBOM did not fit in the quota. */
export const isSbomOverQuota = async (rows: Read, readBeforeMs: number): Promise<boolean> => {
  const [row] = await rows.query(`select exists (select from image_contents where ${overQuota})`, [new Date(readBeforeMs).toISOString()]);
  return row?.[0] === "t";
};

export const requeueSbomsOverQuota = async (rows: Write, readBeforeMs: number, nowMs: number, count: number): Promise<void> => {
  await rows.query(
    `update image_contents set due_time = $2, tries = 0 where uid = any(array(
       select uid from image_contents where ${overQuota} order by update_time limit $3 for update))`,
    [new Date(readBeforeMs).toISOString(), new Date(nowMs).toISOString(), count],
  );
};

/** What is known about the layers of one platform of a tagged image. */
export type TaggedContents = RowOf<typeof taggedContents>;

const taggedContents = columns({
  repoUid: expression("given.repo_uid", text),
  tagDigest: expression("given.digest", text),
  digest: expression("contents.digest", text),
  architectures: expression("jsonb_agg(distinct manifest.architecture) filter (where manifest.architecture <> '')", textList),
  state: expression("contents.state", text),
  /** The first ones. */
  problems: expression("jsonb_path_query_array(contents.problems, '$[0 to 9]')", json),
  problemCount: expression("contents.problem_count", number),
});

/** Returns the contents of these digests and of their platforms. */
export const findContentsBehind = (rows: Read, images: readonly { readonly repoUid: string; readonly digest: string }[]): Promise<TaggedContents[]> =>
  taggedContents.find(
    rows,
    `select ${taggedContents.list} from (select distinct * from unnest($1::text[], $2::text[]) as each(repo_uid, digest)) as given
     left join manifests as manifest on manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest
     join image_contents as contents on contents.repo_uid = given.repo_uid and contents.digest = coalesce(manifest.digest, given.digest)
     group by given.repo_uid, given.digest, contents.uid order by given.repo_uid, given.digest, contents.digest`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );

export type StoredContents = RowOf<typeof storedContents>;

const storedContents = columns({
  uid: text,
  platform: text,
  state: text,
  problemCount: number,
  readerVersion: number,
  operatingSystem: nullableObject,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

/** Returns what is known about the layers of an image, without its packages. */
export const findContents = (rows: Read, repoUid: string, digest: string): Promise<StoredContents | undefined> =>
  storedContents.findOne(rows, `select ${storedContents.list} from image_contents where repo_uid = $1 and digest = $2`, [repoUid, digest]);

const packageOfContents = columns({ name: expression("package.name", text), version: expression("installed.version", text) });

/** Returns one row for each version. */
export const findContentsPackages = (rows: Read, uid: string, count: number): Promise<{ readonly name: string; readonly version: string }[]> =>
  packageOfContents.find(
    rows,
    `select ${packageOfContents.list} from image_contents as contents cross join lateral jsonb_each(contents.packages) as package(name, versions)
     cross join lateral jsonb_array_elements_text(case jsonb_typeof(package.versions) when 'array' then package.versions
       else jsonb_build_array(package.versions) end) as installed(version)
     where contents.uid = $1 order by package.name, installed.version limit $2`,
    [uid, count],
    { rows: count, wide: true },
  );

// $1: a loss counts if the image was last read before this time.
const changedText = "coverage in ('LOSING', 'REGAINED') and (coverage = 'REGAINED' or update_time <= $1)";

const changedRoot = columns({ root: expression("left(uid, 40)", text) });

/** Returns the organizations of images with layers that became unreadable, or readable again, without an event. */
export const findRootsOfChangedContents = async (rows: Read, lostBeforeMs: number): Promise<string[]> => {
  const found = await changedRoot.find(rows, `select distinct ${changedRoot.list} from image_contents where ${changedText}`, [
    new Date(lostBeforeMs).toISOString(),
  ]);
  return found.map(({ root }) => root);
};

/** An image with layers that became unreadable, or readable again. */
export type ChangedContents = RowOf<typeof changedContents>;

const changedContents = columns({
  repoUid: expression("held.repo_uid", text),
  coverage: expression("chosen.coverage", text),
  /** Digests with tags: the image's, or of indexes with it. */
  taggedDigests: expression("chosen.tagged", textList),
});

/** Takes the changes of an organization, in the transaction of their events. The loss of an image without tags is forgotten. */
export const takeChangedContents = (rows: Write, root: string, lostBeforeMs: number): Promise<ChangedContents[]> =>
  changedContents.find(
    rows,
    `with chosen as (
       select uid, coverage, coalesce((
         select jsonb_agg(distinct tag.digest) from (select digest from tags where left(uid, -17) = contents.repo_uid offset 0) as tag
         where tag.digest = contents.digest or tag.digest in (
           select index_digest from manifests as manifest where manifest.repo_uid = contents.repo_uid and manifest.digest = contents.digest)), '[]') as tagged
       from image_contents as contents where ${changedText} and left(uid, 40) = $2 for update)
     update image_contents as held set coverage = case when chosen.coverage = 'LOSING' and chosen.tagged <> '[]' then 'LOST' else '' end
     from chosen where held.uid = chosen.uid returning ${changedContents.list}`,
    [new Date(lostBeforeMs).toISOString(), root],
  );
