// Table image_layers: the layers of images that were read, and the layer that brought each package. A base image of an image has its lowest
// layers, and no others. It is found on request, among the images that the caller may list, so that it is never out of date.

import { limits } from "#base/limits.ts";
import { type Branch, columns, flag, json, number, type Param, type Read, type RowOf, text, textList, type Write, expression } from "#db";
import { columnOf } from "./feed-rows.ts";

export interface ImageLayers {
  /** Digests, the lowest first. */
  readonly layers: readonly string[];
  /** Of each layer, a hash of the digests up to it; empty if there are too many layers. */
  readonly chains: readonly string[];
  /** JSON: lowest and highest position by name and version. */
  readonly packages: string;
  /** All layers were read. */
  readonly isComplete: boolean;
  /** Annotations of the manifest; not verified. */
  readonly claimedName: string;
  readonly claimedDigest: string;
}

/** Stores the layers of an image together with its contents. */
export const writeImageLayers = (rows: Write, uid: string, { layers, chains, packages, isComplete, claimedName, claimedDigest }: ImageLayers): void =>
  rows.send(
    `insert into image_layers (uid, repo_uid, digest, platform, layers, chains, chain, packages, complete, claimed_name, claimed_digest, create_time)
     select uid, repo_uid, digest, platform, $2, $3, $4, $5::jsonb, $6::boolean, $7, $8, create_time from image_contents where uid = $1
     on conflict (uid) do update set platform = excluded.platform, layers = excluded.layers, chains = excluded.chains, chain = excluded.chain,
       packages = excluded.packages, complete = excluded.complete, claimed_name = excluded.claimed_name, claimed_digest = excluded.claimed_digest`,
    [uid, [...layers], [...chains], chains.at(-1) ?? "", packages, String(isComplete), claimedName, claimedDigest],
  );

/** Base images that a caller may see. */
export interface BaseScope {
  /** Repos that the caller may list. */
  readonly visible: readonly Branch[];
  /** Host of this server. Annotations that name its images are not shown: their layers say it. */
  readonly host: string;
}

const platformText = "uid, platform, chains, claimed_name, claimed_digest";

/**
 * SQL of CTEs: `based` has the images of the CTE `given(repo_uid, digest)` and their platforms with layers, each with its base image. The
 * longest base counts; of several with the same layers, a tagged one, then the oldest. Images of the same repo are versions of one image.
 */
export const basedText = ({ visible, host }: BaseScope, add: (value: Param) => string): string => `
  platform as materialized (
    select given.repo_uid, given.digest as image_digest, held.* from given
    cross join lateral (
      select ${platformText} from image_layers where repo_uid = given.repo_uid and digest = given.digest
      union all
      select ${platformText} from (select digest as listed from manifests where repo_uid = given.repo_uid and index_digest = given.digest) as manifest
      join image_layers on repo_uid = given.repo_uid and digest = listed where listed <> given.digest) as held
  ), prefix as materialized (
    select platform.uid, platform.repo_uid, lower.chain, lower.position from platform
    cross join lateral unnest(trim_array(chains, 1)) with ordinality as lower(chain, position)
    where cardinality(chains) > 1 and case
      -- Of few images, each chain is looked up; for many, those of all images are read once.
      when (select count(*) <= ${limits.baseImageLookups} from given) then true
      else lower.chain in (select chain from image_layers where left(uid, 40) = any(array(select distinct left(repo_uid, 40) from given)) and chain <> '') end
  ), visible as (
    select * from unnest(${add(visible.map(({ low }) => low))}::text[], ${add(visible.map(({ high }) => high))}::text[]) as each(low, high)
  ), candidate as materialized (
    select wanted.root, wanted.chain, held.uid, held.repo_uid, held.digest, held.create_time
    from (select distinct left(repo_uid, 40) as root, chain from prefix) as wanted
    cross join lateral (
      select uid, repo_uid, digest, create_time from image_layers where left(uid, 40) = wanted.root and chain = wanted.chain and chain <> ''
      order by create_time, uid limit ${limits.baseImageCandidates}) as held
    where exists (select from visible where held.uid >= visible.low collate "C" and held.uid < visible.high collate "C")
  ), placed as materialized (
    select candidate.*, coalesce(tagged.digest, listing.sha256, candidate.digest) as base_digest, tagged.digest is not null as is_tagged
    from candidate
    left join lateral (select min(sha256) as sha256 from manifest_children where repo_uid = candidate.repo_uid and child = candidate.digest) as listing on true
    left join lateral (
      select tag.digest from tags as tag where left(tag.uid, 40) = candidate.root
        and tag.uid > candidate.repo_uid || '/' and tag.uid < candidate.repo_uid || '0'
        and tag.digest in (
          select candidate.digest union all select sha256 from manifest_children where repo_uid = candidate.repo_uid and child = candidate.digest)
      order by tag.uid limit 1) as tagged on true
  ), ranked as materialized (
    -- Two repos, since one may be that of the image.
    select * from (
      select *, row_number() over (partition by root, chain order by is_tagged desc, create_time, uid) as place from (
        select distinct on (root, chain, repo_uid) * from placed order by root, chain, repo_uid, is_tagged desc, create_time, uid) as each) as each
    where place <= 2
  ), based as materialized (
    select platform.repo_uid, platform.image_digest, platform.uid, platform.platform,
      case when is_shown then claimed_name else '' end as claimed_name, case when is_shown then claimed_digest else '' end as claimed_digest,
      coalesce(base.position, 0) as layer_count, coalesce(base.chain, '') as base_chain,
      coalesce(base.repo_uid, '') as base_repo_uid, coalesce(base.base_digest, '') as base_digest
    from platform cross join lateral (select split_part(claimed_name, '/', 1) <> ${add(host)}::text as is_shown) as claim
    left join (
      select distinct on (prefix.uid) prefix.uid, prefix.position, prefix.chain, ranked.repo_uid, ranked.base_digest from prefix
      join ranked on ranked.root = left(prefix.repo_uid, 40) and ranked.chain = prefix.chain and ranked.repo_uid <> prefix.repo_uid
      order by prefix.uid, prefix.position desc, ranked.place) as base on base.uid = platform.uid
  )`;

/** SQL: of each image of `based`, the first platform with a base image that is known by its layers, or else claimed. */
export const firstBasedText = `
  select distinct on (repo_uid, image_digest) * from based where layer_count > 0 or claimed_name <> ''
  order by repo_uid, image_digest, layer_count = 0, platform, uid`;

/** SQL: the layers of images in the branches of the first two parameters. */
const layersInBranches = (columnsText: string, condition: string): string =>
  `unnest($1::text[], $2::text[]) as place(low, high)
   cross join lateral (
     select ${columnsText} from image_layers where uid >= place.low collate "C" and uid < place.high collate "C" and ${condition} offset 0) as held`;

const imageKeyText = columns({ key: expression("found.repo_uid || '@' || found.digest", text) });

/** SQL: the images of the CTE `held(repo_uid, digest)`, and the indexes with one of them as a platform. */
const withIndexesText = `
  select repo_uid, digest from held
  union select held.repo_uid, manifest.index_digest from held join manifests as manifest
    on manifest.repo_uid = held.repo_uid and manifest.digest = held.digest where manifest.index_digest <> ''`;

/** Images that a request names as base images. */
export interface RequestedBases {
  /** Visible images of this server. */
  readonly images: readonly { readonly repoUid: string; readonly digest: string }[];
  /** Names in annotations. */
  readonly claims: readonly string[];
}

/** Returns the images in the branches that have one of these base images, as "repo uid@digest". Images with the same layers are one base image. */
export const findImagesOnBases = async (rows: Read, { images, claims }: RequestedBases, scope: BaseScope, branches: readonly Branch[]): Promise<string[]> => {
  const values: Param[] = [columnOf(branches, ({ low }) => low), columnOf(branches, ({ high }) => high)];
  const add = (value: Param): string => `$${values.push(value)}`;
  const [repos, digests, named] = [add(columnOf(images, ({ repoUid }) => repoUid)), add(columnOf(images, ({ digest }) => digest)), add([...claims])];
  const found = await imageKeyText.find(
    rows,
    `with wanted as materialized (
       select array_agg(distinct chain) as chains from unnest(${repos}::text[], ${digests}::text[]) as base(repo_uid, digest)
       cross join lateral (
         select base.digest as digest
         union select manifest.digest from manifests as manifest where manifest.repo_uid = base.repo_uid and manifest.index_digest = base.digest) as part
       join image_layers on image_layers.repo_uid = base.repo_uid and image_layers.digest = part.digest where chain <> ''
     ), held as materialized (
       select held.repo_uid, held.digest from wanted cross join ${layersInBranches(
         "repo_uid, digest",
         `(chains && wanted.chains or claimed_name = any(${named}::text[]))`,
       )}
     ), given as materialized (${withIndexesText}), ${basedText(scope, add)}
     select ${imageKeyText.list} from (
       select repo_uid, image_digest as digest, layer_count, base_chain, claimed_name from (${firstBasedText}) as first) as found
     cross join wanted where case when layer_count > 0 then base_chain = any(wanted.chains) else claimed_name = any(${named}::text[]) end order by 1`,
    values,
    { rows: 1, wide: true },
  );
  return found.map(({ key }) => key);
};

/** Returns the images in the branches that have one of these layers, as "repo uid@digest". */
export const findImagesWithLayers = async (rows: Read, layers: readonly string[], branches: readonly Branch[]): Promise<string[]> => {
  const found = await imageKeyText.find(
    rows,
    `with held as materialized (select held.repo_uid, held.digest from ${layersInBranches("repo_uid, digest", "layers && $3::text[]")})
     select ${imageKeyText.list} from (${withIndexesText}) as found order by 1`,
    [columnOf(branches, ({ low }) => low), columnOf(branches, ({ high }) => high), [...layers]],
    { rows: 1, wide: true },
  );
  return found.map(({ key }) => key);
};

/** One platform of an image, with its base image. */
export type LayeredPlatform = RowOf<typeof layeredPlatform>;

const layeredPlatform = columns({
  repoUid: expression("based.repo_uid", text),
  imageDigest: expression("based.image_digest", text),
  /** Digests by position. */
  layers: expression("to_jsonb(held.layers)", textList),
  isComplete: expression("held.complete", flag),
  /** Lowest and highest position by name and version, of the requested names. */
  packages: expression("coalesce(packages.found, '{}')", json),
  /** 0 without a base image among those that the caller may list. */
  layerCount: expression("based.layer_count", number),
  baseRepoUid: expression("based.base_repo_uid", text),
  baseRepo: expression("coalesce(base.name, '')", text),
  baseDigest: expression("based.base_digest", text),
  /** In order. */
  baseTags: expression("coalesce(tagged.names, '[]')", textList),
  claimedName: expression("based.claimed_name", text),
  claimedDigest: expression("based.claimed_digest", text),
});

export interface PackageOfImage {
  readonly repoUid: string;
  readonly digest: string;
  /** "" for none. */
  readonly packageName: string;
}

/** Returns the platforms of images with their base images, and the layers of these packages. */
export const findLayeredPlatforms = (rows: Read, requested: readonly PackageOfImage[], scope: BaseScope): Promise<LayeredPlatform[]> => {
  const values: Param[] = [
    columnOf(requested, ({ repoUid }) => repoUid),
    columnOf(requested, ({ digest }) => digest),
    columnOf(requested, ({ packageName }) => packageName),
  ];
  const add = (value: Param): string => `$${values.push(value)}`;
  return layeredPlatform.find(
    rows,
    `with given as materialized (
       select repo_uid, digest, array_agg(distinct name) as names from unnest($1::text[], $2::text[], $3::text[]) as each(repo_uid, digest, name)
       group by repo_uid, digest
     ), ${basedText(scope, add)}
     select ${layeredPlatform.list} from based join given on given.repo_uid = based.repo_uid and given.digest = based.image_digest
     join lateral (
       -- In memory, so that it is unpacked once for all names.
       select layers, complete, packages || '{}' as packages from image_layers where uid = based.uid offset 0) as held on true
     left join lateral (
       select jsonb_object_agg(name, held.packages -> name) as found from unnest(given.names) as name where held.packages ? name) as packages on true
     left join repos as base on base.uid = based.base_repo_uid
     left join lateral (
       select jsonb_agg(name order by name) as names from (
         select name from tags where left(uid, 40) = left(based.base_repo_uid, 40) and digest = based.base_digest
           and uid > based.base_repo_uid || '/' and uid < based.base_repo_uid || '0' order by name limit ${limits.baseImageTags}) as each
     ) as tagged on based.base_repo_uid <> ''
     order by based.repo_uid, based.image_digest, based.platform, based.uid`,
    values,
    { rows: requested.length, wide: true },
  );
};
