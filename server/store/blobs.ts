// Tables blobs, repo_blobs and blob_removals: which contents there are, which repos have them, and what is left in the blob
// place that no row names. A blob is known once, whoever has it, and is read through a repo that has it alone.
//
// Rows of repo_blobs go with their repo. A blob that no repo has, and what blob_removals names, is removed by collection.

import type { Json, JsonObject } from "#base/json.ts";
import { columns, nullableObject, nullableText, number, text, timeMs } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

/** A blob as a repo has it. */
export interface RepoBlob {
  readonly sha256: string;
  readonly sha512: string | undefined;
  readonly sizeBytes: number;
  /** Where its bytes lie. */
  readonly key: string;
  /** Until then it stays though no manifest needs it; milliseconds since 1970. */
  readonly leaseMs: number;
}

const repoBlob = columns<RepoBlob>({
  sha256: { ...text, sql: "blobs.sha256" },
  sha512: nullableText,
  sizeBytes: number,
  key: text,
  leaseMs: timeMs("lease_time"),
});

const named = "(blobs.sha256 = $2 or blobs.sha512 = $2)";

/** The blob of this digest, of either algorithm, if the repo has it. */
export const findRepoBlob = (rows: Read, repo: string, digest: string): Promise<RepoBlob | undefined> =>
  repoBlob.findOne(
    rows,
    `select ${repoBlob.list} from blobs join repo_blobs on repo_uid = $1 and repo_blobs.sha256 = blobs.sha256 where ${named} and remove_time is null`,
    [repo, digest],
  );

/** Of these digests those that the repo has, by digest as it was given: kept there until the transaction ends. */
export const holdRepoBlobs = async (rows: Write, repo: string, digests: readonly string[]): Promise<Map<string, { sha256: string; sizeBytes: number }>> => {
  const found = await rows.query(
    `select given.digest, repo_blobs.sha256, blobs.size_bytes from unnest($2::text[]) as given(digest)
     join blobs on blobs.sha256 = given.digest or blobs.sha512 = given.digest
     join repo_blobs on repo_blobs.repo_uid = $1 and repo_blobs.sha256 = blobs.sha256
     where remove_time is null order by repo_blobs.sha256 for key share of repo_blobs`,
    [repo, [...new Set(digests)]],
  );
  return new Map(found.map(([digest, sha256, size]) => [digest ?? "", { sha256: sha256 ?? "", sizeBytes: Number(size) }]));
};

/** A repo below one of these paths that has the blob. */
export const findRepoWithBlob = async (rows: Read, digest: string, paths: readonly string[]): Promise<string | undefined> => {
  const [row] = await rows.query(
    `select repo_uid from blobs join repo_blobs on repo_blobs.sha256 = blobs.sha256
     where (blobs.sha256 = $1 or blobs.sha512 = $1) and remove_time is null
       and exists (select from unnest($2::text[]) as place where place = '' or repo_uid = place or starts_with(repo_uid, place || '/')) limit 1`,
    [digest, paths],
  );
  return row?.[0] ?? undefined;
};

/** Content that has been uploaded whole, and is durable. */
export interface NewBlob {
  readonly sha256: string;
  readonly sha512: string | undefined;
  readonly sizeBytes: number;
  readonly key: string;
}

const heldBlob = columns({ key: text, removeTime: nullableText });

/**
 * Gives the blob to a repo. Where the content is known already, what was uploaded is not needed and is left for removal.
 * @param leaseMs until when it stays though no manifest needs it
 */
export const insertRepoBlob = async (rows: Write, repo: string, blob: NewBlob, nowMs: number, leaseMs: number): Promise<void> => {
  const now = new Date(nowMs).toISOString();
  const { sha256, sha512, sizeBytes, key } = blob;
  await rows.query("insert into blobs (sha256, sha512, size_bytes, key, create_time) values ($1, $2, $3, $4, $5) on conflict (sha256) do nothing", [
    sha256,
    sha512 ?? null,
    sizeBytes,
    key,
    now,
  ]);
  const held = await heldBlob.findOne(rows, `select ${heldBlob.list} from blobs where sha256 = $1 for update`, [sha256]);
  if (held && held.key !== key) {
    if (held.removeTime === undefined) await insertBlobRemoval(rows, key, undefined, nowMs);
    else {
      // Its removal goes on, by the key that it had.
      await insertBlobRemoval(rows, held.key, undefined, nowMs);
      await rows.query("update blobs set key = $2, remove_time = null where sha256 = $1", [sha256, key]);
    }
    if (sha512 !== undefined) await rows.query("update blobs set sha512 = $2 where sha256 = $1 and sha512 is null", [sha256, sha512]);
  }
  await writeRepoBlob(rows, repo, sha256, nowMs, leaseMs);
};

const writeRepoBlob = async (rows: Write, repo: string, sha256: string, nowMs: number, leaseMs: number): Promise<void> => {
  await rows.query(
    `insert into repo_blobs as held (repo_uid, sha256, create_time, lease_time) values ($1, $2, $3, $4)
     on conflict (repo_uid, sha256) do update set lease_time = greatest(held.lease_time, excluded.lease_time)`,
    [repo, sha256, new Date(nowMs).toISOString(), new Date(leaseMs).toISOString()],
  );
};

/** Gives a blob that another repo has to this one too; undefined where it has it no longer. */
export const mountRepoBlob = async (
  rows: Write,
  repo: string,
  from: string,
  digest: string,
  nowMs: number,
  leaseMs: number,
): Promise<{ readonly sha256: string } | undefined> => {
  const [row] = await rows.query(
    `select blobs.sha256 from blobs join repo_blobs on repo_uid = $1 and repo_blobs.sha256 = blobs.sha256
     where ${named} and remove_time is null for key share of blobs`,
    [from, digest],
  );
  const sha256 = row?.[0];
  if (sha256 === undefined || sha256 === null) return undefined;
  await writeRepoBlob(rows, repo, sha256, nowMs, leaseMs);
  return { sha256 };
};

/** Keeps a blob, of which somebody was told that the repo has it, for so long. */
export const extendLease = async (rows: Write, repo: string, sha256: string, leaseMs: number): Promise<void> => {
  await rows.query("update repo_blobs set lease_time = greatest(lease_time, $3) where repo_uid = $1 and sha256 = $2", [
    repo,
    sha256,
    new Date(leaseMs).toISOString(),
  ]);
};

/** Takes a blob out of a repo. The caller has seen that no manifest of the repo needs it; the database would refuse. */
export const deleteRepoBlob = async (rows: Write, repo: string, sha256: string): Promise<void> => {
  await rows.query("delete from repo_blobs where repo_uid = $1 and sha256 = $2", [repo, sha256]);
};

/** Leaves content of the blob place for removal. `state`: of an upload that was not completed. */
export const insertBlobRemoval = async (rows: Write, key: string, state: JsonObject | undefined, nowMs: number): Promise<void> => {
  await rows.query("insert into blob_removals (key, state, create_time) values ($1, $2, $3) on conflict do nothing", [
    key,
    state === undefined ? null : JSON.stringify(state satisfies Json),
    new Date(nowMs).toISOString(),
  ]);
};

export interface BlobRemoval {
  readonly key: string;
  /** Of an upload that was not completed. */
  readonly state: JsonObject | undefined;
}

const blobRemoval = columns<BlobRemoval>({ key: text, state: nullableObject });

/** Some of the contents that no row names, for nobody else until the transaction ends. */
export const lockBlobRemovals = (rows: Write, count: number): Promise<BlobRemoval[]> =>
  blobRemoval.find(rows, `select ${blobRemoval.list} from blob_removals order by create_time, key limit $1 for update skip locked`, [count]);

export const deleteBlobRemovals = async (rows: Write, keys: readonly string[]): Promise<void> => {
  await rows.query("delete from blob_removals where key = any($1)", [keys]);
};
