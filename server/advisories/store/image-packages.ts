// Table image_packages: packages of images, from imports. Rows that a source no longer publishes are soft-deleted. SBOMs pushed for a
// tag's digest (image_sboms) take precedence, and so do packages in the layers of its image if all were read (image_contents).

import { columns, type Read, text, type Write } from "#db";
import { noCounts, ownerGroup } from "./feed-counts.ts";
import { columnOf, type FindAsserted, lastByKey, recordDigestOf, type Refreshed, refreshStatistics, uidSegmentOf, writtenCounts } from "./feed-rows.ts";
import { knownContentsText } from "./image-contents.ts";
import type { ImagePackagesRecord, RecordTarget, WriteCounts } from "./records.ts";

/** {"name": "version"}, or {"name": ["version", "version"]} if several are installed. */
const packagesJson = ({ packages }: ImagePackagesRecord): string => {
  const versions = new Map<string, Set<string>>();
  for (const { name, version } of packages) versions.set(name, (versions.get(name) ?? new Set()).add(version));
  const sorted = [...versions].sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(
    Object.fromEntries(sorted.map(([name, each]): [string, string | string[]] => [name, each.size === 1 ? ([...each][0] ?? "") : [...each].sort()])),
  );
};

/**
 * Returns SQL of a `from` item: each tagged image with its packages. An image with layers and SBOMs has a row for each of them.
 * `platform_digest` is that of the platform's manifest, '' for imports. `from_layers` is false for SBOMs. `is_complete` is false for layers
 * of which a part was not read.
 * @param condition on image.owner, image.repo, image.short_repo and image.tag
 */
export const imagesText = (condition: string): string => `(
  with pushed as (
    select image.*, coalesce(manifest.architecture, '') as architecture, tag.digest, coalesce(manifest.digest, tag.digest) as platform_digest,
      sbom.packages, false as from_layers, true as is_complete
    from image_sboms as sbom
    join repos as repo on repo.uid = sbom.repo_uid
    join tags as tag on left(tag.uid, -17) = repo.uid
    left join manifests as manifest on manifest.repo_uid = repo.uid and manifest.index_digest = tag.digest
    cross join lateral (select left(repo.uid, -17) as owner, repo.name as repo, repo.name as short_repo, tag.name as tag) as image
    where sbom.state = 'IMAGE_SBOM_STATE_READ' and (sbom.digest = tag.digest or sbom.digest = manifest.digest) and ${condition}
    union all
    select image.*, coalesce(manifest.architecture, '') as architecture, tag.digest, contents.digest, contents.packages, true,
      contents.state = 'IMAGE_CONTENTS_STATE_INDEXED'
    from repos as repo
    join tags as tag on left(tag.uid, -17) = repo.uid
    left join manifests as manifest on manifest.repo_uid = repo.uid and manifest.index_digest = tag.digest
    join image_contents as contents on contents.repo_uid = repo.uid and contents.digest = coalesce(manifest.digest, tag.digest)
    cross join lateral (select left(repo.uid, -17) as owner, repo.name as repo, repo.name as short_repo, tag.name as tag) as image
    where contents.state in ${knownContentsText} and ${condition}
  )
  select owner, repo, short_repo, tag, architecture, digest, platform_digest, packages, from_layers, is_complete from pushed
  union all
  select owner, repo, short_repo, tag, architecture, digest, '', packages, false, true from image_packages as image
  where delete_time is null and ${condition} and not exists (
    select from pushed where pushed.owner = image.owner and pushed.repo in (image.repo, image.short_repo) and pushed.tag = image.tag
      and pushed.architecture in (image.architecture, '') and (not from_layers or (is_complete and packages <> '{}')))
)`;

export const packageVersionsText = `lateral jsonb_each(image.packages) as package(name, versions)
  cross join lateral jsonb_array_elements_text(case jsonb_typeof(package.versions) when 'array' then package.versions
    else jsonb_build_array(package.versions) end) as installed(version)`;

const imageKey = columns({ repo: text, tag: text, architecture: text });

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

/** Returns the recordKeys of images that the feed published for everyone. */
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

/** Soft-deletes images that `findAsserted` does not return. */
export const withdrawImages = async (rows: Write, target: RecordTarget, findAsserted: FindAsserted): Promise<number> => {
  const owner = ownerGroup(target);
  const found = await imageKey.find(rows, `select ${imageKey.list} from image_packages where feed = $1 and owner = $2 and delete_time is null`, [
    target.feed,
    owner,
  ]);
  const told = await findAsserted(
    found.map(({ repo, tag, architecture }) => uidSegmentOf(repo, tag, architecture)),
    found.map(({ repo, tag, architecture }) => `${repo}:${tag} ${architecture}`),
  );
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

export interface ImagePackages {
  /** "" for public. */
  readonly owner: string;
  readonly repo: string;
  readonly tag: string;
  /** Versions by package name. */
  readonly packages: Readonly<Record<string, readonly string[]>>;
}

export interface ImageOwners {
  readonly paths: readonly string[];
  /** Only these groups; undefined for all. */
  readonly groups: readonly string[] | undefined;
  /** Includes public images. */
  readonly public: boolean;
}

export const findImagePackages = async (rows: Read, owners: ImageOwners, repo: string, tags: readonly string[]): Promise<ImagePackages[]> => {
  const found = await imagePackages.find(
    rows,
    `select ${imagePackages.list} from ${imagesText(`case when image.owner = '' then $5 else ($4::text[] is null or image.owner = any($4))
         and exists (select from unnest($3::text[]) as place where place = '' or image.owner = place or image.owner like place || '/%') end
         and (image.repo = $1 or image.short_repo = $1) and image.tag = any($2)`)} as image`,
    [repo, tags, owners.paths, owners.groups ?? null, owners.public],
  );
  return found.map(({ packages, ...of }) => {
    const versions = Object.entries(JSON.parse(packages) as Record<string, string | string[]>);
    return { ...of, packages: Object.fromEntries(versions.map(([name, each]) => [name, [each].flat()])) };
  });
};

export const refreshImageStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "image_packages", refreshed);
