// Tables unread_images and unread_images_changes: tagged images without known packages. Triggers note repos with changed tags, platforms or
// coverage. Servers write the rows of these repos in the background; until then, a list reads the repo's tags.

import { columns, expression, flag, number, type Read, text, textList, type Write } from "#db";
import { type CoveragePlace, placeParams, placesText, type UnjudgedImage, unjudgedColumns } from "./image-coverage.ts";

/**
 * Returns SQL of the unread images of `repo`; for an index, its platforms. Attestations have the platform "unknown".
 *
 * @param tags the repo's tags, or some of them with all tags of their digests
 * @param fence "offset 0" reads the repo's platforms and coverage once, "" those of each tag
 */
const unreadOf = (tags: string, fence: string): string => `(
  select left(repo.uid, -17) as owner, repo.name as repo, repo.uid as repo_uid, tag.digest, jsonb_agg(distinct tag.name) as tags,
    jsonb_agg(distinct manifest.architecture) filter (where manifest.architecture <> '') as architectures
  from (${tags} offset 0) as tag
  left join (select index_digest, architecture from manifests where repo_uid = repo.uid and architecture <> 'unknown' ${fence}) as manifest
    on manifest.index_digest = tag.digest
  where not exists (
    select from (select tag, architecture from image_coverage where owner = left(repo.uid, -17) and short_repo = repo.name ${fence}) as image
    where image.tag = tag.name and (manifest.architecture is null or image.architecture in (manifest.architecture, '')))
  group by tag.digest)`;

const unreadText = unreadOf("select name, digest from tags where left(uid, -17) = repo.uid and digest <> ''", "offset 0");

/** In the order of `tags_by_digest`. */
const taggedAs = (digest: string, repoUid: string): string =>
  `from tags where left(uid, 40) = left(${repoUid}, 40) and digest = ${digest} and uid > ${repoUid} || '/' and uid < ${repoUid} || '0'`;

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

/** Progress in a repo with many tags: its unread images are written in parts. */
export interface UnreadPiece {
  readonly repoUid: string;
  /** The changes that the pieces together write. Later ones start again. */
  readonly changes: readonly string[];
  /** Last tag that was read. */
  readonly tag: string;
  /** After all tags: last image that was compared with the tags. */
  readonly digest: string | undefined;
}

export interface RefreshLimits {
  readonly repos: number;
  /** Tags of a repo that is written at once. */
  readonly tags: number;
}

export interface Refreshed {
  /** Whether repos with changes may be left. */
  readonly isMore: boolean;
  /** One of the chosen repos, for refreshUnreadPiece. */
  readonly large: UnreadPiece | undefined;
}

const chosenRepo = columns({ repoUid: expression("chosen.repo_uid", text), isLarge: expression("few.count > $3", flag) });
const changeId = columns({ id: text });

/**
 * Writes the unread images of some repos with changes, one server at a time.
 *
 * @param start where to begin in the order of uids, chosen at random so that no repo delays the others
 * @param except a repo that is written in pieces
 */
export const refreshUnreadImages = async (rows: Write, start: string, { repos, tags }: RefreshLimits, except = ""): Promise<Refreshed> => {
  const [row] = await rows.query("select pg_try_advisory_xact_lock($1::bigint)", [refreshKey]);
  if (row?.[0] !== "t") return { isMore: false, large: undefined };
  const chosen = await chosenRepo.find(
    rows,
    `with after as (select distinct repo_uid from unread_images_changes where repo_uid >= $1 and repo_uid <> $4 order by repo_uid limit $2),
       before as (select distinct repo_uid from unread_images_changes where repo_uid < $1 and repo_uid <> $4 order by repo_uid limit $2),
       chosen as (
         select repo_uid from (select repo_uid, 1 as part from after union all select repo_uid, 2 from before) as either order by part, repo_uid limit $2)
     select ${chosenRepo.list} from chosen
     cross join lateral (select count(*) from (select from tags where left(uid, -17) = chosen.repo_uid limit $3::bigint + 1) as each) as few`,
    [start, repos, tags, except],
  );
  const small = chosen.flatMap(({ repoUid, isLarge }) => (isLarge ? [] : [repoUid]));
  if (small.length > 0) {
    await rows.query("delete from unread_images_changes where repo_uid = any($1::text[])", [small]);
    await rows.query("delete from unread_images where repo_uid = any($1::text[])", [small]);
    await rows.query(
      `insert into unread_images (owner, repo, repo_uid, digest, tags, architectures)
       select unread.* from repos as repo cross join lateral ${unreadText} as unread where repo.uid = any($1::text[])`,
      [small],
    );
  }
  const isMore = chosen.length === repos;
  const repoUid = chosen.find(({ isLarge }) => isLarge)?.repoUid;
  if (repoUid === undefined) return { isMore, large: undefined };
  const changes = await changeId.find(rows, `select ${changeId.list} from unread_images_changes where repo_uid = $1`, [repoUid]);
  return { isMore, large: { repoUid, changes: changes.map(({ id }) => id), tag: "", digest: undefined } };
};

const pieceTag = columns({
  uid: text,
  digest: text,
  isFirst: expression(`uid = (select uid ${taggedAs("piece.digest", "$1::text")} order by uid limit 1)`, flag),
});
const pieceImages = columns({ last: expression("coalesce(max(digest), '')", text), count: expression("count(*)", number) });

/** Writes the images of which a tag of the piece is the first one. Returns the last tag; undefined if none are left. */
const writePieceOfTags = async (rows: Write, { repoUid, tag }: UnreadPiece, tags: number): Promise<string | undefined> => {
  const found = await pieceTag.find(
    rows,
    `with piece as materialized (select uid, digest from tags where uid > greatest($2, $1 || '/') and uid < $1 || '0' order by uid limit $3)
     select ${pieceTag.list} from piece`,
    [repoUid, tag, tags],
    { rows: tags, wide: false },
  );
  const digests = found.flatMap(({ digest, isFirst }) => (digest !== "" && isFirst ? [digest] : []));
  await rows.query("delete from unread_images where repo_uid = $1 and digest = any($2::text[])", [repoUid, digests]);
  const tagsText = `select each.name, given.digest from unnest($2::text[]) as given(digest)
    cross join lateral (select name ${taggedAs("given.digest", "repo.uid")} offset 0) as each`;
  await rows.query(
    `insert into unread_images (owner, repo, repo_uid, digest, tags, architectures)
     select unread.* from repos as repo cross join lateral ${unreadOf(tagsText, "")} as unread where repo.uid = $1`,
    [repoUid, digests],
  );
  return found.length < tags ? undefined : found.at(-1)?.uid;
};

/** Deletes images without tags. Returns the last image; undefined if none are left. */
const deletePieceOfImages = async (rows: Write, { repoUid, digest = "" }: UnreadPiece, images: number): Promise<string | undefined> => {
  const found = await pieceImages.findOne(
    rows,
    `with piece as materialized (select digest from unread_images where repo_uid = $1 and digest > $2 order by digest limit $3),
       gone as (
         delete from unread_images as image using piece
         where image.repo_uid = $1 and image.digest = piece.digest and not exists (select ${taggedAs("piece.digest", "$1::text")}))
     select ${pieceImages.list} from piece`,
    [repoUid, digest, images],
  );
  return found && found.count === images ? found.last : undefined;
};

/**
 * Writes a part of a repo's unread images. Each part has the state of its time or a later one, also if two servers write the repo, so that
 * only changes from before the first part are done after the last one.
 *
 * @returns the next part, or undefined after the last one
 */
export const refreshUnreadPiece = async (rows: Write, piece: UnreadPiece, tags: number): Promise<UnreadPiece | undefined> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [refreshKey]);
  if (piece.digest === undefined) {
    const tag = await writePieceOfTags(rows, piece, tags);
    return tag === undefined ? { ...piece, digest: "" } : { ...piece, tag };
  }
  const digest = await deletePieceOfImages(rows, piece, tags);
  if (digest !== undefined) return { ...piece, digest };
  await rows.query("delete from unread_images_changes where repo_uid = $1 and id = any($2::bigint[])", [piece.repoUid, piece.changes]);
  return undefined;
};
