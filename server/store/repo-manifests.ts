// Tables repo_manifests, manifest_blobs and manifest_children: the manifests that repos have, their bytes, and what they
// refer to. Kept until they are deleted, or with their repo.

import { type JsonObject, texts } from "#base/json.ts";
import { columns, expression, nullableObject, number, text } from "./columns.ts";
import { type Read, wideCount, type Write } from "./handle.ts";

/** A manifest as it is given to clients. */
export interface StoredManifest {
  readonly sha256: string;
  readonly sha512: string;
  /** "sha256" or "sha512": of the digest by which it was pushed last. */
  readonly algorithm: string;
  readonly mediaType: string;
  /** Its bytes, as UTF-8. */
  readonly content: string;
  readonly sizeBytes: number;
}

const storedManifest = columns<StoredManifest>({ sha256: text, sha512: text, algorithm: text, mediaType: text, content: text, sizeBytes: number });
const withoutContent = columns({ sha256: text, sha512: text, algorithm: text, mediaType: text, sizeBytes: number });

/** The manifest of this digest, of either algorithm. */
export const findManifestByDigest = (rows: Read, repo: string, digest: string): Promise<StoredManifest | undefined> =>
  digest.startsWith("sha512:")
    ? storedManifest.findOne(rows, `select ${storedManifest.list} from repo_manifests where repo_uid = $1 and sha512 = $2`, [repo, digest])
    : storedManifest.findOne(rows, `select ${storedManifest.list} from repo_manifests where repo_uid = $1 and sha256 = $2`, [repo, digest]);

/** The manifest that a tag points at. */
export const findManifestByTag = (rows: Read, repo: string, tag: string): Promise<StoredManifest | undefined> =>
  storedManifest.findOne(
    rows,
    `select ${storedManifest.listOf("manifest")} from tags join repo_manifests as manifest on manifest.repo_uid = $1 and manifest.sha256 = tags.digest
     where left(tags.uid, -17) = $1 and tags.name collate "POSIX" = $2`,
    [repo, tag],
  );

/** The names of a repo's tags behind `last`, in the order of their bytes. */
export const findTagNames = async (rows: Read, repo: string, last: string, count: number): Promise<string[]> => {
  const [row] = await rows.query(
    // As one text: ten thousand rows cost the driver more than the statement costs the database.
    `select json_agg(name) from (
       select name from tags where left(uid, -17) = $1 and digest <> '' and name collate "POSIX" > $2 order by name collate "POSIX" limit $3) as listed`,
    [repo, last, count],
    { rows: count, wide: false },
  );
  return texts({ names: JSON.parse(row?.[0] ?? "[]") }, "names");
};

/** A manifest to store. */
export interface NewManifest extends StoredManifest {
  readonly artifactType: string;
  /** What it says to be about; "" where it is about nothing. */
  readonly subject: string;
  readonly annotations: JsonObject | undefined;
  /** The blobs that it needs, by sha256. */
  readonly blobs: readonly string[];
  /** The manifests that it lists. */
  readonly children: readonly string[];
}

/** Stores a manifest; false where it is there already. `algorithm` undefined: it was pushed by a tag alone. */
export const insertManifest = async (
  rows: Write,
  repo: string,
  manifest: Omit<NewManifest, "algorithm">,
  algorithm: string | undefined,
  nowMs: number,
): Promise<boolean> => {
  const { sha256, sha512, mediaType, content, sizeBytes, artifactType, subject, annotations } = manifest;
  const made = await rows.query(
    `insert into repo_manifests (repo_uid, sha256, sha512, algorithm, media_type, content, size_bytes, artifact_type, subject, annotations, create_time)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (repo_uid, sha256) do nothing returning 1`,
    [
      repo,
      sha256,
      sha512,
      algorithm ?? "sha256",
      mediaType,
      content,
      sizeBytes,
      artifactType,
      subject,
      annotations === undefined ? null : JSON.stringify(annotations),
      new Date(nowMs).toISOString(),
    ],
  );
  if (made.length === 0) {
    if (algorithm !== undefined)
      await rows.query("update repo_manifests set algorithm = $3 where repo_uid = $1 and sha256 = $2 and algorithm <> $3", [repo, sha256, algorithm]);
    return false;
  }
  if (manifest.blobs.length > 0)
    await rows.query("insert into manifest_blobs (repo_uid, sha256, blob) select $1, $2, blob from unnest($3::text[]) as given(blob)", [
      repo,
      sha256,
      [...new Set(manifest.blobs)],
    ]);
  if (manifest.children.length > 0)
    await rows.query("insert into manifest_children (repo_uid, sha256, child) select $1, $2, child from unnest($3::text[]) as given(child)", [
      repo,
      sha256,
      [...new Set(manifest.children)],
    ]);
  return true;
};

/** A stored manifest, for nobody else until the transaction ends. */
export const lockManifest = (rows: Write, repo: string, digest: string): Promise<Omit<StoredManifest, "content"> | undefined> =>
  withoutContent.findOne(rows, `select ${withoutContent.list} from repo_manifests where repo_uid = $1 and (sha256 = $2 or sha512 = $2) for update`, [
    repo,
    digest,
  ]);

/** Deletes a manifest, with what it refers to. */
export const deleteManifest = async (rows: Write, repo: string, sha256: string): Promise<void> => {
  await rows.query("delete from repo_manifests where repo_uid = $1 and sha256 = $2", [repo, sha256]);
};

/** The uids of the tags that point at a digest. */
export const findTagsOfDigest = async (rows: Read, repo: string, sha256: string, count: number): Promise<string[]> => {
  const found = await rows.query(
    `select uid from tags where left(uid, 40) = left($1, 40) and digest = $2 and uid > $1 || '/' and uid < $1 || '0' order by uid limit $3`,
    [repo, sha256, count],
  );
  return found.map(([uid]) => uid ?? "");
};

/** Whether a manifest of the repo needs the blob. */
export const isBlobNeeded = async (rows: Read, repo: string, sha256: string): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from manifest_blobs where repo_uid = $1 and blob = $2)", [repo, sha256]);
  return row?.[0] === "t";
};

/** The manifests that list this one, by either of its digests. */
export const findIndexesOf = async (rows: Read, repo: string, digests: readonly string[]): Promise<string[]> => {
  const found = await rows.query("select distinct sha256 from manifest_children where repo_uid = $1 and child = any($2)", [repo, digests]);
  return found.map(([sha256]) => sha256 ?? "");
};

/** What a list of referrers says of one. */
export interface Referrer {
  readonly sha256: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly artifactType: string;
  readonly annotations: JsonObject | undefined;
}

const referrer = columns<Referrer>({ sha256: text, mediaType: text, sizeBytes: number, artifactType: text, annotations: nullableObject });

/**
 * The manifests that say to be about this digest, or about the same manifest by its other digest, behind `last`.
 * @param artifactType of this type alone; "": of any
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

/** A manifest as verification reads it. */
export interface PageManifest {
  readonly repo: string;
  readonly sha256: string;
  readonly sha512: string;
  readonly content: string;
}

const pageManifest = columns<PageManifest>({ repo: expression("repo_uid", text), sha256: text, sha512: text, content: text });

/** All manifests, some at a time. */
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

/** How many manifests, each digest once, the repos at or below a place have. */
export const countManifestDigests = async (rows: Read, place: string): Promise<number> => {
  const [row] = await rows.query(
    "select count(distinct sha256) from repo_manifests where repo_uid = $1 or (repo_uid > $1 || '/' and repo_uid < $1 || '0')",
    [place],
    wideCount,
  );
  return Number(row?.[0] ?? 0);
};
