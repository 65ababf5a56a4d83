// Tables unread_images and unread_images_changes: tagged images without known packages. Triggers note repos with changed tags, platforms or
// coverage. Servers write the rows of these repos in the background; until then, a list reads the repo's tags.

import { columns, expression, flag, number, type Read, text, textList, type Write } from "#db";
import { type CoveragePlace, placeParams, placesText, type UnjudgedImage, unjudgedColumns } from "./image-coverage.ts";

/** Returns SQL of the unread images of `repo`; for an index, its platforms. Attestations have the platform "unknown". */
const unreadText = `(
  select left(repo.uid, -17) as owner, repo.name as repo, repo.uid as repo_uid, tag.digest, jsonb_agg(distinct tag.name) as tags,
    jsonb_agg(distinct manifest.architecture) filter (where manifest.architecture <> '') as architectures
  from (select name, digest from tags where left(uid, -17) = repo.uid and digest <> '' offset 0) as tag
  left join (select index_digest, architecture from manifests where repo_uid = repo.uid and architecture <> 'unknown' offset 0) as manifest
    on manifest.index_digest = tag.digest
  where not exists (
    select from (select tag, architecture from image_coverage where owner = left(repo.uid, -17) and short_repo = repo.name offset 0) as image
    where image.tag = tag.name and (manifest.architecture is null or image.architecture in (manifest.architecture, '')))
  group by tag.digest)`;

export interface UnreadImages {
  readonly images: readonly UnjudgedImage[];
  readonly count: number;
}

const unreadImage = columns<UnjudgedImage & { readonly count: number }>({
  ...unjudgedColumns,
  ecosystems: expression("null::jsonb", textList),
  partlyRead: expression("false", flag),
  count: expression("(select count(*) from kept) + (select count(*) from live)", number),
});

/** Returns tagged images without known packages. */
export const findUnreadImages = async (rows: Read, places: readonly CoveragePlace[], limit: number): Promise<UnreadImages> => {
  const found = await unreadImage.find(
    rows,
    `with place as materialized (select * from ${placesText}),
     changed as materialized (
       select distinct each.repo_uid from place cross join lateral (
         select repo_uid from unread_images_changes where repo_uid > place.low and repo_uid < place.finish offset 0) as each),
     live as materialized (
       select unread.* from changed join repos as repo on repo.uid = changed.repo_uid
       join place on left(repo.uid, -17) >= place.low and left(repo.uid, -17) < place.high
       cross join lateral ${unreadText} as unread),
     kept as (
       select each.repo_uid from place cross join lateral (
         select repo_uid from unread_images where owner >= place.low and owner < place.high offset 0) as each
       where each.repo_uid not in (select repo_uid from changed)),
     first as (
       select each.* from place cross join lateral (
         select owner, repo, repo_uid, digest, tags, architectures from unread_images
         where owner >= place.low and owner < place.high and repo_uid not in (select repo_uid from changed)
         order by owner, repo, digest limit $4) as each)
     select ${unreadImage.list} from (select * from first union all select * from live) as found
     order by found.owner, found.repo, found.digest limit $4`,
    [...placeParams(places), limit],
    { rows: limit, wide: true },
  );
  return { images: found, count: found[0]?.count ?? 0 };
};

const isAnyChanged = columns({ found: flag });

export const isUnreadChanged = async (rows: Read): Promise<boolean> =>
  (await isAnyChanged.findOne(rows, "select true as found from unread_images_changes limit 1")) !== undefined;

const refreshKey = 730_141_294;

const changedRepo = columns({ repoUid: expression("each.repo_uid", text) });

/**
 * Writes the unread images of some repos with changes, one server at a time.
 *
 * @param start where to begin in the order of uids, chosen at random so that no repo delays the others
 * @returns whether repos with changes are left
 */
export const refreshUnreadImages = async (rows: Write, start: string, limit: number): Promise<boolean> => {
  const [row] = await rows.query("select pg_try_advisory_xact_lock($1::bigint)", [refreshKey]);
  if (row?.[0] !== "t") return false;
  const changed = await changedRepo.find(
    rows,
    `with after as (select distinct repo_uid from unread_images_changes where repo_uid >= $1 order by repo_uid limit $2),
       before as (select distinct repo_uid from unread_images_changes where repo_uid < $1 order by repo_uid limit $2),
       chosen as (
         select repo_uid from (select repo_uid, 1 as part from after union all select repo_uid, 2 from before) as either order by part, repo_uid limit $2)
     delete from unread_images_changes as each using chosen where each.repo_uid = chosen.repo_uid returning ${changedRepo.list}`,
    [start, limit],
  );
  const repos = [...new Set(changed.map(({ repoUid }) => repoUid))];
  if (repos.length === 0) return false;
  await rows.query("delete from unread_images where repo_uid = any($1::text[])", [repos]);
  await rows.query(
    `insert into unread_images (owner, repo, repo_uid, digest, tags, architectures)
     select unread.* from repos as repo cross join lateral ${unreadText} as unread where repo.uid = any($1::text[])`,
    [repos],
  );
  return repos.length === limit;
};
