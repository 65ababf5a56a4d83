// Table affected_images: which packages of images an advisory says to be affected, or said so. Made from image_packages by the
// step behind imports, an organization at a time. What is resolved is kept for as long as reports reach back.

import { columns, expression, number, text, textList } from "./columns.ts";
import { columnOf } from "./feed-rows.ts";
import type { Read, Write } from "./handle.ts";
import { imagesText, packageVersionsText } from "./image-packages.ts";

// Any number that no other lock has (lock.ts); with the organization.
const matchingKey = 730_141_291;

/** Who matches an organization's images: one at a time, until the transaction ends. */
export const lockMatching = async (rows: Write, root: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock(${matchingKey}, hashtext($1))`, [root]);
};

const installed = columns<InstalledVersion>({
  owner: expression("image.owner", text),
  name: expression("package.name", text),
  version: expression("installed.version", text),
});

/** A version of a package that some image of a group has. */
export interface InstalledVersion {
  readonly owner: string;
  readonly name: string;
  readonly version: string;
}

/** What the images of an organization are made of, each version of a package once for each group. */
export const findInstalledVersions = (rows: Read, root: string): Promise<InstalledVersion[]> =>
  installed.find(
    rows,
    `select distinct ${installed.list} from ${imagesText("image.owner >= $1 and image.owner < $1 || '0'")} as image
     cross join ${packageVersionsText}`,
    [root],
  );

const imageRoot = columns({ root: text });

/** Organizations that have images, or had affected ones. */
export const findImageRoots = async (rows: Read): Promise<string[]> => {
  const found = await imageRoot.find(
    rows,
    `select ${imageRoot.list} from (
       select distinct left(owner, 40) as root from image_packages where owner <> ''
       union select distinct left(uid, 40) from image_sboms
       union select root from access_versions where exists (
         select from affected_images where left(uid, 40) = access_versions.root)) as organization
     where exists (select from groups where uid = root) order by root`,
  );
  return found.map(({ root }) => root);
};

/** An advisory says that a version of a package is affected, in the images of a group. */
export interface AffectedVersion extends InstalledVersion {
  readonly state: "AFFECTED_IMAGE_STATE_AFFECTED" | "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION";
  readonly fixedVersion: string;
  readonly advisoryUid: string;
}

/** An image that was not known to be affected by the advisory. */
export interface NewlyAffected {
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  /** Different images, and the first of them. */
  readonly count: number;
  readonly images: string;
}

const newlyAffected = columns<NewlyAffected>({
  advisoryId: text,
  aliases: textList,
  count: number,
  images: text,
});

// An image is what a digest says; where the repo does not have the tag, what it is made of.
const madeText = `
  select image.owner || '/' || left(encode(sha256(convert_to(jsonb_build_array(image.repo, coalesce(tag.digest, image.digest),
      given.name, given.version, given.advisory_uid)::text, 'UTF8')), 'hex'), 16) as uid,
    image.repo, coalesce(min(repo.uid), '') as repo_uid, jsonb_agg(distinct image.tag) as tags, coalesce(min(tag.digest), '') as digest,
    jsonb_agg(distinct image.architecture) as architectures, given.name as package_name, given.version as installed_version,
    min(given.fixed_version) as fixed_version, min(advisory.advisory_id) as advisory_id,
    min(advisory.aliases::text)::jsonb as aliases, given.advisory_uid, min(given.state) as state
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as given(owner, name, version, advisory_uid, fixed_version, state)
  join (select image.*, package.name, installed.version from ${imagesText("image.owner = any($2)")} as image
      cross join ${packageVersionsText} offset 0) as image using (owner, name, version)
  join advisories as advisory on advisory.uid = given.advisory_uid
  left join repos as repo on left(repo.uid, -17) = image.owner and repo.name collate "POSIX" in (image.repo, image.short_repo)
    and length(repo.uid) = length(image.owner) + 17
  left join tags as tag on left(tag.uid, -17) = repo.uid and tag.name collate "POSIX" = image.tag
  group by image.owner, image.repo, coalesce(tag.digest, image.digest), given.name, given.version, given.advisory_uid`;

/**
 * Writes which images of an organization are affected now. What was and is no longer is resolved. Returns what was not
 * known before, by advisory.
 */
export const writeAffectedImages = async (
  rows: Write,
  root: string,
  affected: readonly AffectedVersion[],
  digestsMax: number,
  nowMs: number,
): Promise<NewlyAffected[]> => {
  const now = new Date(nowMs).toISOString();
  const written = await newlyAffected.find(
    rows,
    `with made as materialized (${madeText}), written as (
       insert into affected_images as held (uid, repo, repo_uid, tags, digest, architectures, package_name, installed_version, fixed_version,
         advisory_id, aliases, advisory_ids, advisory_uid, state, start_time, create_time, update_time)
       select uid, repo, repo_uid, tags, digest, architectures, package_name, installed_version, fixed_version, advisory_id, aliases,
         jsonb_build_array(advisory_id) || aliases, advisory_uid, state, $8::timestamptz, $8::timestamptz, $8::timestamptz from made order by uid
       on conflict (uid) do update set repo_uid = excluded.repo_uid, tags = excluded.tags, digest = excluded.digest,
         architectures = excluded.architectures, fixed_version = excluded.fixed_version, advisory_id = excluded.advisory_id,
         aliases = excluded.aliases, advisory_ids = excluded.advisory_ids, state = excluded.state, end_time = null,
         start_time = case when held.end_time is null then held.start_time else excluded.start_time end,
         update_time = greatest(excluded.update_time, held.update_time + interval '1 ms'),
         left_tags = (held.left_tags || case when held.end_time is not null then '{}' else (
           select coalesce(jsonb_object_agg(name, $8), '{}') from jsonb_array_elements_text(held.tags) as name
           where not excluded.tags ? name) end)
       where (held.repo_uid, held.tags, held.digest, held.architectures, held.fixed_version, held.advisory_id, held.aliases, held.state, held.end_time)
         is distinct from (excluded.repo_uid, excluded.tags, excluded.digest, excluded.architectures, excluded.fixed_version, excluded.advisory_id,
           excluded.aliases, excluded.state, null)
       returning uid, start_time, update_time
     ), ended as (
       update affected_images as held set state = 'AFFECTED_IMAGE_STATE_RESOLVED', end_time = $8::timestamptz,
         update_time = greatest($8::timestamptz, update_time + interval '1 ms'),
         left_tags = left_tags || (select coalesce(jsonb_object_agg(name, $8), '{}') from jsonb_array_elements_text(held.tags) as name)
       where uid > $1 and uid < $1 || '0' and end_time is null and not exists (select from made where made.uid = held.uid)
     ), fresh as (
       select made.* from made join written on written.uid = made.uid left join affected_images as before on before.uid = made.uid
       where before.uid is null or before.end_time is not null
     ), image as (
       select advisory_id, min(aliases::text) as aliases, repo, max(repo_uid) as repo_uid, digest, tags from fresh
       group by advisory_id, repo, digest, tags
     ), numbered as (
       select *, row_number() over (partition by advisory_id order by repo, digest, tags::text) as number from image
     )
     select advisory_id, min(aliases), count(*), coalesce(jsonb_agg(jsonb_build_object(
       'repo', repo, 'repoUid', repo_uid, 'digest', digest, 'tags', tags) order by number) filter (where number <= $9), '[]')
     from numbered group by advisory_id order by advisory_id`,
    [
      root,
      columnOf(affected, ({ owner }) => owner),
      columnOf(affected, ({ name }) => name),
      columnOf(affected, ({ version }) => version),
      columnOf(affected, ({ advisoryUid }) => advisoryUid),
      columnOf(affected, ({ fixedVersion }) => fixedVersion),
      columnOf(affected, ({ state }) => state),
      now,
      digestsMax,
    ],
  );
  return written;
};

/** Forgets of an organization what was resolved before this time. */
export const deleteResolvedBefore = async (rows: Write, root: string, beforeMs: number): Promise<void> => {
  await rows.query("delete from affected_images where uid > $1 and uid < $1 || '0' and end_time < $2", [root, new Date(beforeMs).toISOString()]);
};

/** An advisory that a tag's image was affected by and is no longer. */
export interface LeftAdvisory {
  readonly owner: string;
  readonly repo: string;
  readonly tag: string;
  readonly advisoryUid: string;
  /** Since when. */
  readonly time: string;
}

const leftAdvisory = columns<LeftAdvisory>({
  owner: expression("given.owner", text),
  repo: expression("given.repo", text),
  tag: expression("given.tag", text),
  advisoryUid: expression("held.advisory_uid", text),
  time: expression("max(held.left_tags ->> given.tag)", text),
});

/** What the images of these tags were affected by, and no image of the tag is any longer. */
export const findLeftAdvisories = (
  rows: Read,
  tags: readonly { readonly owner: string; readonly repo: string; readonly tag: string }[],
): Promise<LeftAdvisory[]> =>
  leftAdvisory.find(
    rows,
    `select ${leftAdvisory.list} from (select distinct * from unnest($1::text[], $2::text[], $3::text[]) as each(owner, repo, tag)) as given
     join affected_images as held on left(held.uid, 40) = left(given.owner, 40) and held.repo = given.repo and held.left_tags ? given.tag
       and left(held.uid, -17) = given.owner
     where not exists (
       select from affected_images as other where left(other.uid, 40) = left(given.owner, 40) and other.repo = given.repo
         and left(other.uid, -17) = given.owner and other.advisory_uid = held.advisory_uid and other.end_time is null and other.tags ? given.tag)
     group by given.owner, given.repo, given.tag, held.advisory_uid`,
    [columnOf(tags, ({ owner }) => owner), columnOf(tags, ({ repo }) => repo), columnOf(tags, ({ tag }) => tag)],
    { rows: tags.length, wide: true },
  );
