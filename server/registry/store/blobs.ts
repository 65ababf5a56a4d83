// Tables blobs, repo_blobs, blob_removals and blob_writes: contents, the repos that contain them, and storage keys to
// remove. A blob is stored once and is readable only through a repo that contains it.
//
// Rows of repo_blobs are deleted with their repo. Collection removes everything in blob_removals, and blobs in no repo,
// not even a restorable one.

import type { Fault } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, flag, nullableObject, nullableText, number, type Read, requireChanges, type RowOf, text, timeMs, type Write } from "#db";
import { type KnownUpload, knownUploadDeletion } from "./uploads.ts";

export type RepoBlob = RowOf<typeof repoBlob>;

const repoBlob = columns({
  sha256: { ...text, sql: "blobs.sha256" },
  sha512: nullableText,
  sizeBytes: number,
  key: text,
  /** Kept until then even if unreferenced. */
  leaseMs: timeMs("lease_time"),
});

const named = "(blobs.sha256 = $2 or blobs.sha512 = $2)";

/** `digest` is SHA-256 or SHA-512. */
export const findRepoBlob = (rows: Read, repo: string, digest: string): Promise<RepoBlob | undefined> =>
  repoBlob.findShared(
    rows,
    `select ${repoBlob.list} from blobs join repo_blobs on repo_uid = $1 and repo_blobs.sha256 = blobs.sha256 where ${named} and remove_time is null`,
    [repo, digest],
  );

/** Locks the blob until the transaction ends, against references and removal. */
export const lockRepoBlob = async (rows: Write, repo: string, digest: string): Promise<{ readonly sha256: string } | undefined> => {
  const [row] = await rows.query(
    `select repo_blobs.sha256 from repo_blobs join blobs using (sha256) where repo_uid = $1 and ${named} and remove_time is null for update of repo_blobs`,
    [repo, digest],
  );
  const sha256 = row?.[0];
  return sha256 === undefined || sha256 === null ? undefined : { sha256 };
};

/** Returns the repo's blobs by requested digest, protected from removal until the transaction ends. */
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

/** Searches below these paths. Pending repos are no mount source. */
export const findRepoWithBlob = async (rows: Read, digest: string, paths: readonly string[]): Promise<string | undefined> => {
  const [row] = await rows.query(
    `select repo_uid from blobs join repo_blobs on repo_blobs.sha256 = blobs.sha256
     where (blobs.sha256 = $1 or blobs.sha512 = $1) and remove_time is null and exists (select from repos where repos.uid = repo_uid)
       and exists (select from unnest($2::text[]) as place where place = '' or repo_uid = place or starts_with(repo_uid, place || '/')) limit 1`,
    [digest, paths],
  );
  return row?.[0] ?? undefined;
};

export interface NewBlob {
  readonly sha256: string;
  readonly sha512: string | undefined;
  readonly sizeBytes: number;
  readonly key: string;
}

const heldBlob = columns<{ readonly key: string; readonly removeTime: string | undefined }>({ key: text, removeTime: nullableText });

/**
 * Waits only for the content's row. If the content exists already, the upload is queued for removal, and the result is true.
 * @param leaseMs until when to keep it unreferenced
 * @param faultOf names an exceeded quota
 */
export const insertRepoBlob = async (
  rows: Write,
  repo: string,
  blob: NewBlob,
  { nowMs, leaseMs, faultOf }: { readonly nowMs: number; readonly leaseMs: number; readonly faultOf: (fault: Fault) => unknown },
): Promise<boolean> => {
  const now = new Date(nowMs).toISOString();
  const { sha256, sha512, sizeBytes, key } = blob;
  let held: { readonly key: string; readonly removeTime: string | undefined } | undefined;
  // Collection may delete the row between insert and lock.
  while (held === undefined) {
    rows.send("insert into blobs (sha256, sha512, size_bytes, key, create_time) values ($1, $2, $3, $4, $5) on conflict (sha256) do nothing", [
      sha256,
      sha512 ?? null,
      sizeBytes,
      key,
      now,
    ]);
    held = await heldBlob.findOne(rows, `select ${heldBlob.list} from blobs where sha256 = $1 for update`, [sha256]);
  }
  if (held.key !== key) {
    if (held.removeTime === undefined) await insertBlobRemoval(rows, key, undefined, nowMs);
    else {
      // The hidden content is removed by its old key.
      await insertBlobRemoval(rows, held.key, undefined, nowMs);
      await rows.query("update blobs set key = $2, remove_time = null where sha256 = $1", [sha256, key]);
    }
    if (sha512 !== undefined) await rows.query("update blobs set sha512 = $2 where sha256 = $1 and sha512 is null", [sha256, sha512]);
  }
  rows.send(repoBlobStatement, [repo, sha256, now, new Date(leaseMs).toISOString()], faultOf);
  return held.key !== key;
};

const repoBlobStatement = `insert into repo_blobs as held (repo_uid, sha256, create_time, lease_time) values ($1, $2, $3, $4)
  on conflict (repo_uid, sha256) do update set lease_time = greatest(held.lease_time, excluded.lease_time)`;

const repoBlobFrom = (source: string): string => `
  stored as (
    insert into blobs as held (sha256, sha512, size_bytes, key, create_time) select $2, $3, $4::bigint, $5, $6::timestamptz ${source}
    on conflict (sha256) do update set sha512 = coalesce(held.sha512, excluded.sha512) where held.remove_time is null returning key
  ), linked as (
    insert into repo_blobs as held (repo_uid, sha256, create_time, lease_time) select $1, $2, $6::timestamptz, $7::timestamptz from stored
    on conflict (repo_uid, sha256) do update set lease_time = greatest(held.lease_time, excluded.lease_time) returning 1
  ), duplicate as (
    insert into blob_removals (key, create_time) select $5, $6::timestamptz from stored where key <> $5 on conflict do nothing returning 1
  ) select 1 / (select count(*) from linked), (select count(*) from duplicate)`;

const repoBlobAlone = `with ${repoBlobFrom("")}`;

const repoBlobOfUpload = `with ended as (${knownUploadDeletion({ repo: "$1", id: "$8", key: "$9", sizeBytes: "$10" })}), ${repoBlobFrom("from ended")}`;

/**
 * Like `insertRepoBlob`, without waiting; also deletes the upload, if given. The transaction fails with `lost` if the upload has changed or
 * is leased, or if the stored content is hidden. `answered` gets whether the content existed already.
 */
export const requireRepoBlob = (
  rows: Write,
  repo: string,
  blob: NewBlob,
  upload: KnownUpload | undefined,
  {
    nowMs,
    leaseMs,
    faultOf,
    lost,
    answered,
  }: {
    readonly nowMs: number;
    readonly leaseMs: number;
    readonly faultOf: (fault: Fault) => unknown;
    readonly lost: () => unknown;
    readonly answered: (isDuplicate: boolean) => void;
  },
): void => {
  const values = [repo, blob.sha256, blob.sha512 ?? null, blob.sizeBytes, blob.key, timestamp(nowMs), timestamp(leaseMs)];
  requireChanges(rows, upload ? repoBlobOfUpload : repoBlobAlone, upload ? [...values, upload.id, upload.key, upload.sizeBytes] : values, {
    absent: lost,
    faultOf,
    answered: ([, duplicates]) => answered(duplicates !== "0"),
  });
};

/** Returns undefined if the other repo no longer contains the blob. */
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
  await rows.query(repoBlobStatement, [repo, sha256, new Date(nowMs).toISOString(), new Date(leaseMs).toISOString()]);
  return { sha256 };
};

/** Gives the repo all blobs of these manifests of another repo. Returns those that are hidden, and so cannot be given. */
export const mountManifestBlobs = async (
  rows: Write,
  repo: string,
  from: string,
  digests: readonly string[],
  nowMs: number,
  leaseMs: number,
): Promise<string[]> => {
  const needed = "select blob from manifest_blobs where repo_uid = $1 and sha256 = any($2)";
  // The rows of the source repo exist as long as its manifests, which the caller has locked.
  const hidden = await rows.query(`select sha256 from blobs where sha256 in (${needed}) and remove_time is not null limit 10`, [from, digests]);
  if (hidden.length > 0) return hidden.map(([sha256]) => sha256 ?? "");
  await rows.query(
    `insert into repo_blobs as held (repo_uid, sha256, create_time, lease_time)
     select $3, blob, $4, $5 from (select distinct blob from (${needed}) as named) as each order by blob
     on conflict (repo_uid, sha256) do update set lease_time = greatest(held.lease_time, excluded.lease_time)`,
    [from, digests, repo, timestamp(nowMs), timestamp(leaseMs)],
  );
  return [];
};

/** Extends the lease before a response confirms the blob; false if it is missing. */
export const extendLease = async (rows: Write, repo: string, sha256: string, leaseMs: number): Promise<boolean> => {
  const held = await rows.query("update repo_blobs set lease_time = greatest(lease_time, $3) where repo_uid = $1 and sha256 = $2 returning 1", [
    repo,
    sha256,
    new Date(leaseMs).toISOString(),
  ]);
  return held.length > 0;
};

/** The caller has checked for references; the database refuses otherwise. */
export const deleteRepoBlob = async (rows: Write, repo: string, sha256: string): Promise<void> => {
  await rows.query("delete from repo_blobs where repo_uid = $1 and sha256 = $2", [repo, sha256]);
};

/** `state` belongs to an incomplete upload. */
export const insertBlobRemoval = async (rows: Write, key: string, state: JsonObject | undefined, nowMs: number): Promise<void> => {
  await rows.query("insert into blob_removals (key, state, create_time) values ($1, $2, $3) on conflict do nothing", [
    key,
    state === undefined ? null : JSON.stringify(state satisfies Json),
    new Date(nowMs).toISOString(),
  ]);
};

export type BlobRemoval = RowOf<typeof blobRemoval>;

const blobRemoval = columns({ key: text, state: nullableObject });

/** Oldest first. */
export const findBlobRemovals = (rows: Read, count: number): Promise<BlobRemoval[]> =>
  blobRemoval.find(rows, `select ${blobRemoval.list} from blob_removals order by create_time, key limit $1`, [count]);

export const deleteBlobRemovals = async (rows: Write, keys: readonly string[]): Promise<void> => {
  await rows.query("delete from blob_removals where key = any($1)", [keys]);
};

// ---- collection --------------------------------------------------------------------------------------------------

const neededInRepo = "exists (select from manifest_blobs where manifest_blobs.repo_uid = held.repo_uid and manifest_blobs.blob = held.sha256)";

export type RepoBlobName = readonly [repo: string, sha256: string];

/** Returns unreferenced, expired blobs among the next `count` rows; `end` starts the next page. */
export const findRepoBlobPage = async (
  rows: Read,
  last: RepoBlobName,
  nowMs: number,
  count: number,
): Promise<{ readonly unneeded: readonly RepoBlobName[]; readonly end: RepoBlobName | undefined }> => {
  const found = await rows.query(
    `select repo_uid, sha256, lease_time < $4 and not ${neededInRepo} from repo_blobs as held
     where (repo_uid, sha256) > ($1, $2) order by repo_uid, sha256 limit $3`,
    [...last, count, new Date(nowMs).toISOString()],
    { rows: count, wide: true },
  );
  const page = found.map(([repo, sha256, unneeded]) => ({ name: [repo ?? "", sha256 ?? ""] as const, unneeded: unneeded === "t" }));
  return { unneeded: page.filter(({ unneeded }) => unneeded).map(({ name }) => name), end: page.length < count ? undefined : page.at(-1)?.name };
};

/** Removes blobs if still unreferenced and expired; skips locked rows. */
export const collectRepoBlobs = async (rows: Write, names: readonly RepoBlobName[], nowMs: number): Promise<void> => {
  const now = new Date(nowMs).toISOString();
  const given = [names.map(([repo]) => repo), names.map(([, sha256]) => sha256)];
  const locked = await rows.query(
    `select held.repo_uid, held.sha256 from repo_blobs as held join unnest($1::text[], $2::text[]) as given(repo_uid, sha256) using (repo_uid, sha256)
     order by held.repo_uid, held.sha256 for update of held skip locked`,
    given,
  );
  // A separate statement sees commits from before the lock.
  await rows.query(
    `delete from repo_blobs as held using unnest($1::text[], $2::text[]) as given(repo_uid, sha256)
     where held.repo_uid = given.repo_uid and held.sha256 = given.sha256 and held.lease_time < $3 and not ${neededInRepo}`,
    [locked.map(([repo]) => repo ?? ""), locked.map(([, sha256]) => sha256 ?? ""), now],
  );
};

/** A deleted repo counts, since it can be restored (deletions.ts). */
const inNoRepo =
  "not exists (select from repo_blobs where repo_blobs.sha256 = held.sha256) and " +
  "not exists (select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = held.sha256)";

/** Returns blobs without a repo among the next `count`; `end` starts the next page. */
export const findBlobPage = async (
  rows: Read,
  last: string,
  count: number,
): Promise<{ readonly unneeded: readonly string[]; readonly end: string | undefined }> => {
  const found = await rows.query(`select sha256, ${inNoRepo} from blobs as held where sha256 > $1 order by sha256 limit $2`, [last, count], {
    rows: count,
    wide: true,
  });
  const page = found.map(([sha256, unneeded]) => ({ sha256: sha256 ?? "", unneeded: unneeded === "t" }));
  return { unneeded: page.filter(({ unneeded }) => unneeded).map(({ sha256 }) => sha256), end: page.length < count ? undefined : page.at(-1)?.sha256 };
};

/** Deletes blobs still without a repo; skips locked rows. */
export const collectBlobs = async (rows: Write, digests: readonly string[]): Promise<{ readonly key: string; readonly sizeBytes: number }[]> => {
  const locked = await rows.query("select sha256 from blobs where sha256 = any($1) order by sha256 for update skip locked", [digests]);
  const gone = await rows.query(`delete from blobs as held where sha256 = any($1) and ${inNoRepo} returning key, size_bytes`, [
    locked.map(([sha256]) => sha256 ?? ""),
  ]);
  return gone.map(([key, size]) => ({ key: key ?? "", sizeBytes: Number(size) }));
};

/** Returns sizes of collectable blobs among the next `count`; `end` starts the next page. */
export const findCollectableBlobs = async (
  rows: Read,
  last: string,
  { nowMs, pendingBeforeMs }: { readonly nowMs: number; readonly pendingBeforeMs: number },
  count: number,
): Promise<{ readonly sizes: readonly number[]; readonly end: string | undefined }> => {
  const found = await rows.query(
    `select sha256, size_bytes, not exists (
       select from repo_blobs as held where held.sha256 = blobs.sha256 and (held.lease_time >= $3 or ${neededInRepo})
         and not exists (select from pending_repos where pending_repos.uid = held.repo_uid and pending_repos.update_time < $4)
     ) and not exists (select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256)
     from blobs where sha256 > $1 order by sha256 limit $2`,
    [last, count, timestamp(nowMs), timestamp(pendingBeforeMs)],
    { rows: count, wide: true },
  );
  const sizes = found.flatMap(([, size, collectable]) => (collectable === "t" ? [Number(size)] : []));
  return { sizes, end: found.length < count ? undefined : (found.at(-1)?.[0] ?? undefined) };
};

/** Protects a key during a write. */
export const extendBlobWrite = async (rows: Write, key: string, untilMs: number): Promise<void> => {
  await rows.query("insert into blob_writes (key, lease_time) values ($1, $2) on conflict (key) do update set lease_time = excluded.lease_time", [
    key,
    timestamp(untilMs),
  ]);
};

export const endBlobWrite = async (rows: Write, key: string): Promise<void> => {
  await rows.query("delete from blob_writes where key = $1", [key]);
};

export const deleteStaleBlobWrites = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query("delete from blob_writes where lease_time <= $1", [timestamp(nowMs)]);
};

/** Returns those keys that a row references. */
export const findNamedKeys = async (rows: Read, keys: readonly string[], nowMs: number): Promise<ReadonlySet<string>> => {
  const found = await rows.query(
    `select key from blobs where key = any($1) union all select key from uploads where key = any($1)
     union all select key from blob_removals where key = any($1) union all select key from blob_writes where key = any($1) and lease_time > $2`,
    [keys, timestamp(nowMs)],
    { rows: keys.length, wide: true },
  );
  return new Set(found.map(([key]) => key ?? ""));
};

// ---- verification ------------------------------------------------------------------------------------------------

export type StoredBlob = RowOf<typeof storedBlob>;

const storedBlob = columns({
  sha256: text,
  sha512: nullableText,
  sizeBytes: number,
  key: text,
  /** Reported as missing until uploaded again. */
  isHidden: expression("remove_time is not null", flag),
});

export const findBlobs = (rows: Read, last: string, count: number): Promise<StoredBlob[]> =>
  storedBlob.find(rows, `select ${storedBlob.list} from blobs where sha256 > $1 order by sha256 limit $2`, [last, count], { rows: count, wide: true });

export const findStoredBlob = (rows: Read, sha256: string): Promise<StoredBlob | undefined> =>
  storedBlob.findOne(rows, `select ${storedBlob.list} from blobs where sha256 = $1`, [sha256]);

export const countBlobs = async (rows: Read): Promise<{ readonly count: number; readonly sizeBytes: number }> => {
  const [row] = await rows.query("select count(*), coalesce(sum(size_bytes), 0) from blobs");
  return { count: Number(row?.[0] ?? 0), sizeBytes: Number(row?.[1] ?? 0) };
};

export const findReposOfBlob = async (rows: Read, sha256: string, count: number): Promise<string[]> =>
  (await rows.query("select repo_uid from repo_blobs where sha256 = $1 order by repo_uid limit $2", [sha256, count])).map(([repo]) => repo ?? "");

/** Hides a corrupt blob, so that the next push uploads it again, or shows it. */
export const setBlobHidden = async (rows: Write, { sha256, key }: Pick<StoredBlob, "sha256" | "key">, hideTimeMs: number | undefined): Promise<void> => {
  await rows.query("update blobs set remove_time = $3 where sha256 = $1 and key = $2", [
    sha256,
    key,
    hideTimeMs === undefined ? null : new Date(hideTimeMs).toISOString(),
  ]);
};
