// Table uploads: progress, and the lease of the current writer. Deleted after limits.uploadKeptMs without a write.

import type { JsonObject } from "#base/json.ts";
import { columns, nullableObject, number, type Read, requireChange, requireChanges, type RowOf, text, type Write } from "#db";

export type UploadRow = RowOf<typeof uploadRow>;

const uploadRow = columns({
  id: text,
  key: text,
  sizeBytes: number,
  /** Of the blob store. */
  state: nullableObject,
  /** "sha512" if announced; otherwise "". */
  algorithm: text,
});

/** Does not wait. */
export const insertUpload = (rows: Write, repo: string, upload: UploadRow, nowMs: number): void => {
  const now = new Date(nowMs).toISOString();
  rows.send(
    "insert into uploads (id, repo_uid, key, size_bytes, state, algorithm, hold_time, create_time, update_time) values ($1, $2, $3, $4, $5, $6, $7, $7, $7)",
    [upload.id, repo, upload.key, upload.sizeBytes, JSON.stringify(upload.state ?? {}), upload.algorithm, now],
  );
};

export const findUpload = (rows: Read, repo: string, id: string): Promise<UploadRow | undefined> =>
  uploadRow.findOne(rows, `select ${uploadRow.list} from uploads where id = $1 and repo_uid = $2`, [id, repo]);

/** Leases an upload. Returns undefined if it is leased to another holder or does not exist. */
export const holdUpload = (rows: Write, repo: string, id: string, holder: string, nowMs: number, untilMs: number): Promise<UploadRow | undefined> =>
  uploadRow.findOne(
    rows,
    `update uploads set holder = $3, hold_time = $5 where id = $1 and repo_uid = $2 and (holder = '' or hold_time < $4) returning ${uploadRow.list}`,
    [id, repo, holder, new Date(nowMs).toISOString(), new Date(untilMs).toISOString()],
  );

export const extendUploadLease = async (rows: Write, id: string, holder: string, untilMs: number): Promise<void> => {
  await rows.query("update uploads set hold_time = $3 where id = $1 and holder = $2", [id, holder, new Date(untilMs).toISOString()]);
};

export const releaseUpload = async (rows: Write, id: string, holder: string): Promise<void> => {
  await rows.query("update uploads set holder = '' where id = $1 and holder = $2", [id, holder]);
};

interface UploadProgress {
  readonly id: string;
  readonly holder: string;
  readonly key: string;
  readonly sizeBytes: number;
  readonly state: JsonObject;
}

const updateStatement = "update uploads set size_bytes = $3, state = $4, holder = '', update_time = $5, key = $6 where id = $1 and holder = $2 returning 1";

const updateValues = ({ id, holder, sizeBytes, state, key }: UploadProgress, nowMs: number) => [
  id,
  holder,
  sizeBytes,
  JSON.stringify(state),
  new Date(nowMs).toISOString(),
  key,
];

/** Releases the lease, unless it was lost. Does not wait. */
export const updateUpload = (rows: Write, progress: UploadProgress, nowMs: number): void => rows.send(updateStatement, updateValues(progress, nowMs));

/** Releases the lease; the transaction fails with `lost` if it was lost. Does not wait. */
export const requireUploadUpdate = (rows: Write, progress: UploadProgress, nowMs: number, lost: () => unknown): void =>
  requireChange(rows, updateStatement, updateValues(progress, nowMs), lost);

/** The first bytes of an upload, stored under a key of their own, so that they need no lease. */
export interface FirstBytes extends Pick<UploadRow, "id" | "key" | "sizeBytes" | "state"> {
  readonly repo: string;
  /** Of the upload while it is empty. */
  readonly emptyKey: string;
}

const firstBytesStatement = `with changed as (
    update uploads set key = $4, size_bytes = $5, state = $6, update_time = $7
    where id = $1 and repo_uid = $2 and key = $3 and size_bytes = 0 and holder = '' returning 1
  ) select 1 / count(*) from changed`;

/** The transaction fails with `lost` if the upload has bytes or a lease, or does not exist. Does not wait. */
export const requireFirstBytes = (
  rows: Write,
  { id, repo, emptyKey, key, sizeBytes, state }: FirstBytes,
  nowMs: number,
  { lost, answered }: { readonly lost: () => unknown; readonly answered: () => void },
): void =>
  requireChanges(rows, firstBytesStatement, [id, repo, emptyKey, key, sizeBytes, JSON.stringify(state ?? {}), new Date(nowMs).toISOString()], {
    absent: lost,
    faultOf: (fault) => fault,
    answered,
  });

/** An upload without a lease, as this server knows it. */
export interface KnownUpload {
  readonly id: string;
  readonly key: string;
  readonly sizeBytes: number;
}

/** Returns the statement that deletes an upload if it is as known and not leased. The arguments are its parameters. */
export const knownUploadDeletion = ({ id, repo, key, sizeBytes }: Readonly<Record<"id" | "repo" | "key" | "sizeBytes", string>>): string =>
  `delete from uploads where id = ${id} and repo_uid = ${repo} and key = ${key} and size_bytes = ${sizeBytes} and holder = '' returning 1`;

const deleteStatement = `delete from uploads where id = $1 and repo_uid = $2 and (holder = $3 or holder = '' or hold_time < $4) returning ${uploadRow.list}`;

/** Returns undefined if it does not exist or is leased. */
export const deleteUpload = (rows: Write, repo: string, id: string, nowMs: number): Promise<UploadRow | undefined> =>
  uploadRow.findOne(rows, deleteStatement, [id, repo, "", new Date(nowMs).toISOString()]);

/** The transaction fails with `lost` if the upload does not exist or is leased to another holder. Does not wait. */
export const requireUploadDeletion = (
  rows: Write,
  repo: string,
  { id, holder }: Pick<UploadProgress, "id" | "holder">,
  nowMs: number,
  lost: () => unknown,
): void => requireChange(rows, deleteStatement, [id, repo, holder, new Date(nowMs).toISOString()], lost);

/** Deletes an upload unless it is leased to another holder, even if that lease has expired. */
export const deleteHeldUpload = (rows: Write, id: string, holder: string): Promise<UploadRow | undefined> =>
  uploadRow.findOne(rows, `delete from uploads where id = $1 and (holder = $2 or holder = '') returning ${uploadRow.list}`, [id, holder]);

/** Deletes uploads without a write since `beforeMs` and without a valid lease. */
export const deleteStaleUploads = (rows: Write, nowMs: number, beforeMs: number, count: number): Promise<UploadRow[]> =>
  uploadRow.find(
    rows,
    `delete from uploads where id = any(array(
       select id from uploads where update_time < $2 and (holder = '' or hold_time < $1) order by update_time limit $3 for update skip locked))
     returning ${uploadRow.list}`,
    [new Date(nowMs).toISOString(), new Date(beforeMs).toISOString(), count],
  );

export const countStaleUploads = async (rows: Read, nowMs: number, beforeMs: number): Promise<number> => {
  const [row] = await rows.query("select count(*) from uploads where update_time < $2 and (holder = '' or hold_time < $1)", [
    new Date(nowMs).toISOString(),
    new Date(beforeMs).toISOString(),
  ]);
  return Number(row?.[0] ?? 0);
};
