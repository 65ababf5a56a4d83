// The uploads and repositories that this server knows from earlier requests, so that a push waits for the database once for each request
// (docs/decisions/0105). Both may be outdated, so the transaction of the request proves them.

import { fairMap } from "#base/fair-map.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import type { RunningDigests } from "./upload-digests.ts";

/** An upload after a request of this server. */
export interface KnownUpload {
  readonly repo: string;
  readonly key: string;
  readonly sizeBytes: number;
  /** "sha512" if announced; otherwise "". */
  readonly algorithm: string;
  /** Of all bytes; undefined if this server has not received all of them. */
  readonly digests: RunningDigests | undefined;
}

// Each organization has a fair share of both.
const uploads = fairMap<KnownUpload>(limits.uploadDigestsMax);

export const findKnownUpload = (id: string): KnownUpload | undefined => uploads.get(id);

export const keepUpload = (id: string, upload: KnownUpload | undefined): void => {
  if (upload) uploads.set(id, upload, rootOf(upload.repo));
  else uploads.delete(id);
};

/** Returns the digests of the upload's bytes under this key; undefined if this server has not received all of them. */
export const findDigests = (id: string, key: string, sizeBytes: number): RunningDigests | undefined => {
  const known = uploads.get(id);
  return known?.key === key && known.digests?.sizeBytes === sizeBytes ? known.digests : undefined;
};

/** Uploads that a request of this server appends to without a lease. */
const writing = new Set<string>();

export const isWritten = (id: string): boolean => writing.has(id);

/** Returns false if another request of this server writes the upload. */
export const beginWriting = (id: string): boolean => {
  if (writing.has(id)) return false;
  writing.add(id);
  return true;
};

export const endWriting = (id: string): void => void writing.delete(id);

interface KnownRepo {
  readonly uid: string;
  /** When a push to it last fitted into the storage quota. */
  readonly fittedMs: number;
}

// By path as clients write it.
const repos = fairMap<KnownRepo>(limits.pushedReposKept);

export const findKnownRepo = (path: string): string | undefined => repos.get(path)?.uid;

export const keepRepo = (path: string, uid: string, fittedMs = repos.get(path)?.uid === uid ? (repos.get(path)?.fittedMs ?? 0) : 0): void =>
  repos.set(path, { uid, fittedMs }, rootOf(uid));

export const forgetRepo = (path: string): void => repos.delete(path);

/** Returns whether content for the repository may be read before its quota is checked. */
export const hasFitted = (path: string, nowMs: number): boolean => nowMs - (repos.get(path)?.fittedMs ?? 0) < limits.quotaTrustedMs;
