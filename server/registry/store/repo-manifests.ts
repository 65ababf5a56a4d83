// Tables repo_manifests, manifest_blobs and manifest_children. Untagged manifests may be deleted after some days
// (server/application/untagged-manifests.ts).

import { type JsonObject, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, nullableObject, number, type Read, type RowOf, text, timeMs, wideCount, type Write } from "#db";

export interface StoredManifest {
  readonly sha256: string;
  readonly sha512: string;
  /** Of the digest of the last push. */
  readonly algorithm: string;
  readonly mediaType: string;
  readonly content: string;
  readonly sizeBytes: number;
}

export type RequestedManifest = RowOf<typeof storedManifest>;

const storedManifest = columns({
  sha256: text,
  sha512: text,
  algorithm: text,
  mediaType: text,
  content: text,
  sizeBytes: number,
  /** Last recorded use. */
  usedMs: timeMs("use_time"),
});
const withoutContent = columns({ sha256: text, sha512: text, algorithm: text, mediaType: text, sizeBytes: number });

/** Returns the manifest with this digest of either algorithm. */
export const findManifestByDigest = (rows: Read, repo: string, digest: string): Promise<RequestedManifest | undefined> =>
  digest.startsWith("sha512:")
    ? storedManifest.findShared(rows, `select ${storedManifest.list} from repo_manifests where repo_uid = $1 and sha512 = $2`, [repo, digest])
    : storedManifest.findShared(rows, `select ${storedManifest.list} from repo_manifests where repo_uid = $1 and sha256 = $2`, [repo, digest]);

export const findManifestByTag = (rows: Read, repo: string, tag: string): Promise<RequestedManifest | undefined> =>
  storedManifest.findShared(
    rows,
    `select ${storedManifest.listOf("manifest")} from tags join repo_manifests as manifest on manifest.repo_uid = $1 and manifest.sha256 = tags.digest
     where left(tags.uid, -17) = $1 and tags.name collate "POSIX" = $2`,
    [repo, tag],
  );

/** Returns the names after `last` in byte order. */
export const findTagNames = async (rows: Read, repo: string, last: string, count: number): Promise<string[]> => {
  const [row] = await rows.query(
    // As one text: ten thousand rows cost the driver more than the database.
    `select json_agg(name) from (
       select name from tags where left(uid, -17) = $1 and digest <> '' and name collate "POSIX" > $2 order by name collate "POSIX" limit $3) as listed`,
    [repo, last, count],
    { rows: count, wide: false },
  );
  return texts({ names: JSON.parse(row?.[0] ?? "[]") }, "names");
};

export interface NewManifest extends StoredManifest {
  readonly artifactType: string;
  /** "" if it has none. */
  readonly subject: string;
  readonly annotations: JsonObject | undefined;
  /** SHA-256 digests; awaited after the manifest's own statement is sent. */
  readonly blobs: readonly string[] | Promise<readonly string[]>;
  readonly children: readonly string[];
}

/** Prevents collection. Returns how many exist. */
export const useManifests = async (rows: Write, repo: string, digests: readonly string[], nowMs: number): Promise<number> => {
  if (digests.length === 0) return 0;
  // A fixed order prevents deadlocks.
  const used = await rows.query(
    `with held as (
       select sha256 from repo_manifests where repo_uid = $1 and (sha256 = any($2) or sha512 = any($2)) order by sha256 for update
     ) update repo_manifests as manifest set use_time = greatest(use_time, $3::timestamptz)
     from held where manifest.repo_uid = $1 and manifest.sha256 = held.sha256 returning 1`,
    [repo, [...digests], timestamp(nowMs)],
  );
  return used.length;
};

/** Prevents deletion until the transaction ends. Does not wait. */
export const holdManifest = (rows: Write, repo: string, sha256: string): void =>
  rows.send("select 1 from repo_manifests where repo_uid = $1 and sha256 = $2 for key share", [repo, sha256]);

/** Returns false if it exists. `algorithm` is undefined if it was pushed by tag only. */
export const insertManifest = async (
  rows: Write,
  repo: string,
  manifest: Omit<NewManifest, "algorithm">,
  algorithm: string | undefined,
  nowMs: number,
): Promise<boolean> => {
  const { sha256, sha512, mediaType, content, sizeBytes, artifactType, subject, annotations } = manifest;
  const [[isNew] = []] = await rows.query(
    // xmax is 0 in a row that this statement has inserted.
    `insert into repo_manifests as known
       (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, annotations, create_time, use_time)
     values ($1, $2, $3, coalesce(nullif($4, ''), 'sha256'), $5, $6, $7, $8, $9, $10, $11, $11)
     on conflict (repo_uid, sha256) do update
       set use_time = greatest(known.use_time, excluded.use_time), algorithm = coalesce(nullif($4, ''), known.algorithm)
     returning xmax = 0`,
    [
      repo,
      sha256,
      sha512,
      algorithm ?? "",
      mediaType,
      content,
      sizeBytes,
      artifactType,
      subject,
      annotations === undefined ? null : JSON.stringify(annotations),
      timestamp(nowMs),
    ],
  );
  const blobs = await manifest.blobs;
  if (isNew !== "t") return false;
  if (blobs.length > 0)
    rows.send("insert into manifest_blobs (repo_uid, sha256, blob) select $1, $2, blob from unnest($3::text[]) as given(blob)", [
      repo,
      sha256,
      [...new Set(blobs)],
    ]);
  if (manifest.children.length > 0)
    rows.send("insert into manifest_children (repo_uid, sha256, child) select $1, $2, child from unnest($3::text[]) as given(child)", [
      repo,
      sha256,
      [...new Set(manifest.children)],
    ]);
  return true;
};

/** Locks the manifest until the transaction ends; `key share` only prevents its deletion. */
export const lockManifest = (
  rows: Write,
  repo: string,
  digest: string,
  mode: "update" | "key share" = "update",
): Promise<Omit<StoredManifest, "content"> | undefined> =>
  withoutContent.findOne(rows, `select ${withoutContent.list} from repo_manifests where repo_uid = $1 and (sha256 = $2 or sha512 = $2) for ${mode}`, [
    repo,
    digest,
  ]);

export const deleteManifest = async (rows: Write, repo: string, sha256: string): Promise<void> => {
  await rows.query("delete from repo_manifests where repo_uid = $1 and sha256 = $2", [repo, sha256]);
};

export const findTagsOfDigest = async (rows: Read, repo: string, sha256: string, count: number): Promise<string[]> => {
  const found = await rows.query(
    `select uid from tags where left(uid, 40) = left($1, 40) and digest = $2 and uid > $1 || '/' and uid < $1 || '0' order by uid limit $3`,
    [repo, sha256, count],
  );
  return found.map(([uid]) => uid ?? "");
};

/** Returns the names of tags that point to the manifest, or to an index that includes it at any nesting. */
export const findTagsThatInclude = async (rows: Read, repo: string, sha256: string): Promise<string[]> => {
  const found = await rows.query(
    `with recursive above(sha256, depth) as (
       select $2::text collate "C", 0
       union
       select listed.sha256, above.depth + 1 from above
       join repo_manifests as manifest on manifest.repo_uid = $1 and manifest.sha256 = above.sha256
       join manifest_children as listed on listed.repo_uid = $1 and listed.child in (manifest.sha256, manifest.sha512)
       where above.depth < $3
     ) select tags.name from (select distinct sha256 from above) as named
     join tags on left(tags.uid, 40) = left($1, 40) and tags.digest = named.sha256 and tags.uid > $1 || '/' and tags.uid < $1 || '0'`,
    [repo, sha256, limits.indexNestingMax],
  );
  return found.map(([name]) => name ?? "");
};

export const isBlobNeeded = async (rows: Read, repo: string, sha256: string): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from manifest_blobs where repo_uid = $1 and blob = $2)", [repo, sha256]);
  return row?.[0] === "t";
};

/** Returns the manifests that list this one by either digest. */
export const findIndexesOf = async (rows: Read, repo: string, digests: readonly string[]): Promise<string[]> => {
  const found = await rows.query("select distinct sha256 from manifest_children where repo_uid = $1 and child = any($2)", [repo, digests]);
  return found.map(([sha256]) => sha256 ?? "");
};

export type Referrer = RowOf<typeof referrer>;

const referrer = columns({ sha256: text, mediaType: text, sizeBytes: number, artifactType: text, annotations: nullableObject });

/**
 * Returns the manifests with this digest, or the same manifest's other digest, as `subject`.
 * @param artifactType "" for any
 */
export const findReferrers = (rows: Read, repo: string, digest: string, artifactType: string, last: string, count: number): Promise<Referrer[]> =>
  referrer.find(
    rows,
    `select ${referrer.list} from repo_manifests where repo_uid = $1 and subject <> '' and subject = any(array[$2] || array(
       select unnest(array[other.sha256, other.sha512]) from repo_manifests as other where other.repo_uid = $1 and (other.sha256 = $2 or other.sha512 = $2)))
     and ($3 = '' or artifact_type = $3) and sha256 > $4 order by sha256 limit $5`,
    [repo, digest, artifactType, last, count],
    { rows: count, wide: false },
  );

export type ChartManifest = RowOf<typeof chartManifest>;

const chartManifest = columns({ repo: expression("repo_uid", text), sha256: text, content: text });

/** Returns each repo's most recently pushed chart with a tag. */
export const findLatestCharts = (rows: Read, root: string, places: readonly string[], limit: number): Promise<ChartManifest[]> =>
  chartManifest.find(
    rows,
    `select distinct on (left(repo_uid, 40), repo_uid) ${chartManifest.list} from repo_manifests
     where artifact_type = 'application/vnd.cncf.helm.config.v1+json' and left(repo_uid, 40) = $1
       and exists (select from unnest($2::text[], $3::text[]) as place(low, high) where repo_uid >= place.low and repo_uid < place.high)
       and exists (select from tags where left(tags.uid, 40) = $1 and tags.digest = sha256 and left(tags.uid, -17) = repo_uid)
     order by left(repo_uid, 40), repo_uid, create_time desc, sha256 limit $4`,
    [root, places, places.map((path) => (path === "" ? "~" : `${path}0`)), limit],
    { rows: limit, wide: false },
  );

export type PageManifest = RowOf<typeof pageManifest>;

const pageManifest = columns({ repo: expression("repo_uid", text), sha256: text, sha512: text, content: text });

export const findManifestPage = (rows: Read, last: readonly [repo: string, sha256: string], count: number): Promise<PageManifest[]> =>
  pageManifest.find(
    rows,
    `select ${pageManifest.list} from repo_manifests where (repo_uid, sha256) > ($1, $2) order by repo_uid, sha256 limit $3`,
    [...last, count],
    {
      rows: count,
      wide: true,
    },
  );

export const countManifestDigests = async (rows: Read, place: string): Promise<number> => {
  const [row] = await rows.query(
    "select count(distinct sha256) from repo_manifests where repo_uid = $1 or (repo_uid > $1 || '/' and repo_uid < $1 || '0')",
    [place],
    wideCount,
  );
  return Number(row?.[0] ?? 0);
};

// ---- promotion -------------------------------------------------------------------------------------------------------

/** Returns the manifests that these list, and their referrers, without SBOMs that the server attached: the other repo has its own. */
export const findManifestsAround = async (rows: Read, repo: string, digests: readonly string[], count: number): Promise<string[]> => {
  const found = await rows.query(
    `with held as (select sha256, sha512 from repo_manifests where repo_uid = $1 and sha256 = any($2))
     select referrer.sha256 from (
       select referrer.repo_uid, referrer.sha256 from held join repo_manifests as referrer
         on referrer.repo_uid = $1 and referrer.subject <> '' and referrer.subject = any(array[held.sha256, held.sha512])
       -- Found by their subject before they are compared with attached SBOMs.
       offset 0) as referrer where not ${isAttached("referrer")}
     union
     select kept.sha256 from manifest_children as listed join repo_manifests as kept
       on kept.repo_uid = $1 and (kept.sha256 = listed.child or kept.sha512 = listed.child)
     where listed.repo_uid = $1 and listed.sha256 = any($2)
     limit $3`,
    [repo, digests, count],
  );
  return found.map(([sha256]) => sha256 ?? "");
};

/** Returns the digests of those tags of a repo that point to a manifest. */
export const findTagDigests = async (rows: Read, repo: string, names: readonly string[]): Promise<Map<string, string>> => {
  const found = await rows.query(`select name, digest from tags where left(uid, -17) = $1 and name collate "POSIX" = any($2) and digest <> ''`, [repo, names]);
  return new Map(found.map(([name, digest]) => [name ?? "", digest ?? ""]));
};

/** Returns these manifests, protected from deletion until the transaction ends. */
export const holdManifests = (rows: Write, repo: string, digests: readonly string[]): Promise<StoredManifest[]> =>
  storedManifest.find(
    rows,
    `select ${storedManifest.list} from repo_manifests where repo_uid = $1 and sha256 = any($2) order by sha256 for key share`,
    [repo, digests],
    { rows: digests.length, wide: true },
  );

/** Copies manifests of another repo whose blobs the repo has; returns the digests that it did not have before. */
export const copyManifests = async (rows: Write, repo: string, from: string, digests: readonly string[], nowMs: number): Promise<string[]> => {
  const made = await rows.query(
    `insert into repo_manifests
       (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, annotations, create_time, use_time)
     select $1, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, annotations, $4::timestamptz, $4::timestamptz
     from repo_manifests where repo_uid = $2 and sha256 = any($3) order by sha256 on conflict (repo_uid, sha256) do nothing returning sha256`,
    [repo, from, digests, timestamp(nowMs)],
  );
  const copied = made.map(([sha256]) => sha256 ?? "");
  await rows.query("insert into manifest_blobs (repo_uid, sha256, blob) select $1, sha256, blob from manifest_blobs where repo_uid = $2 and sha256 = any($3)", [
    repo,
    from,
    copied,
  ]);
  await rows.query(
    "insert into manifest_children (repo_uid, sha256, child) select $1, sha256, child from manifest_children where repo_uid = $2 and sha256 = any($3)",
    [repo, from, copied],
  );
  return copied;
};

// ---- unused manifests ------------------------------------------------------------------------------------------------

export type ManifestName = readonly [repo: string, sha256: string];

/** True for an SBOM that the server attached to an image: it is deleted with the image, and keeps nothing. */
export const isAttached = (manifest: string): string =>
  `exists (select from image_contents as attached where attached.repo_uid = ${manifest}.repo_uid
    and attached.sbom_digest <> '' and attached.sbom_digest = ${manifest}.sha256)`;

/**
 * No tag points to it, or did since $3, or did and can be restored; no index lists it; its subject does not exist. Neither it nor a
 * referrer was used since $3.
 */
const unusedText = `held.use_time < $3
  and not exists (select from tags where left(tags.uid, 40) = left(held.repo_uid, 40) and tags.digest = held.sha256 and left(tags.uid, -17) = held.repo_uid)
  and not exists (select from tag_history as past where past.repo_uid = held.repo_uid and past.digest = held.sha256
    and (past.end_time is null or past.end_time >= $3))
  and not exists (select from deleted_rows where table_name = 'tags' and left(content ->> 'uid', -17) = held.repo_uid and content ->> 'digest' = held.sha256)
  and not exists (select from manifest_children as listed where listed.repo_uid = held.repo_uid and listed.child in (held.sha256, held.sha512))
  and not exists (select from repo_manifests as referrer where referrer.repo_uid = held.repo_uid and referrer.subject <> ''
    and referrer.subject in (held.sha256, held.sha512) and referrer.use_time >= $3 and not ${isAttached("referrer")})
  and (held.subject = '' or not exists (select from repo_manifests as about where about.repo_uid = held.repo_uid
    and (about.sha256 = held.subject or about.sha512 = held.subject)))`;

/** Returns the unused ones of the next `count` manifests; `end` is where the next page starts. */
export const findUnusedManifests = async (
  rows: Read,
  last: ManifestName,
  sinceMs: number,
  count: number,
): Promise<{ readonly unused: readonly ManifestName[]; readonly end: ManifestName | undefined }> => {
  const found = await rows.query(
    `select repo_uid, sha256, ${unusedText} from (
       select repo_uid, sha256, sha512, subject, use_time from repo_manifests where (repo_uid, sha256) > ($1, $2)
       order by repo_uid, sha256 limit $4) as held order by repo_uid, sha256`,
    [...last, timestamp(sinceMs), count],
    { rows: count, wide: true },
  );
  const page = found.map(([repo, sha256, unused]) => ({ name: [repo ?? "", sha256 ?? ""] as const, unused: unused === "t" }));
  return { unused: page.filter(({ unused }) => unused).map(({ name }) => name), end: page.length < count ? undefined : page.at(-1)?.name };
};

/** Locks the manifest if it is still unused. A locked manifest counts as used. */
export const lockUnusedManifest = async (rows: Write, [repo, sha256]: ManifestName, sinceMs: number): Promise<boolean> => {
  const held = await rows.query("select 1 from repo_manifests where repo_uid = $1 and sha256 = $2 for update skip locked", [repo, sha256]);
  if (held.length === 0) return false;
  // Sees everything committed before the lock.
  const [row] = await rows.query(`select ${unusedText} from repo_manifests as held where repo_uid = $1 and sha256 = $2`, [repo, sha256, timestamp(sinceMs)]);
  return row?.[0] === "t";
};

/** Returns the manifests that this one lists, and its referrers. */
export const findManifestsKeptBy = async (rows: Read, [repo, sha256]: ManifestName, count: number): Promise<ManifestName[]> => {
  const found = await rows.query(
    `with held as (select unnest(array[sha256, sha512]) as digest from repo_manifests where repo_uid = $1 and sha256 = $2)
     select sha256 from repo_manifests where repo_uid = $1 and subject <> '' and subject = any(array(select digest from held))
     union
     select kept.sha256 from manifest_children as listed join repo_manifests as kept
       on kept.repo_uid = $1 and (kept.sha256 = listed.child or kept.sha512 = listed.child)
     where listed.repo_uid = $1 and listed.sha256 = $2
     order by 1 limit $3`,
    [repo, sha256, count],
  );
  return found.map(([kept]) => [repo, kept ?? ""] as const);
};
