// Interface of blob storage, for files and S3. It knows keys and bytes; digests, owners and references are in the database
// (docs/decisions/0031).

import { randomBytes } from "node:crypto";
import { Fault, unavailable } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";

/** Progress of an upload. The caller stores it and passes it to the next append, on any server. */
export interface UploadPoint {
  readonly sizeBytes: number;
  /** Private to the storage. */
  readonly state: JsonObject;
}

export interface ByteRange {
  readonly startBytes: number;
  /** Exclusive. */
  readonly endBytes: number;
}

export interface StoredContent {
  readonly key: string;
  /** 0 if the storage does not know it for uploads. */
  readonly sizeBytes: number;
  readonly completed: boolean;
  readonly changedAtMs: number;
  /** For `remove`. */
  readonly state?: JsonObject;
}

export interface SigningOptions {
  readonly seconds: number;
  /** Content-Type of the response. */
  readonly contentType: string;
}

export interface BlobPlace {
  /**
   * Appends after `at`; durable once resolved. Overwrites data after `at` from failed or unrecorded appends. The caller ensures one
   * writer per key. A piece of `content` is valid until the next one is requested. Throws the errors of `content`, UNAVAILABLE if the
   * storage is full (HTTP 507) or unreachable, and DATA_LOSS if data before `at` is missing. Except after DATA_LOSS, `at` can be
   * retried.
   */
  append(key: string, at: UploadPoint, content: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<UploadPoint>;
  /** Completes an upload: its content is durable and readable. Idempotent, also for empty uploads. Throws like append. */
  complete(key: string, at: UploadPoint): Promise<void>;
  /**
   * Like `complete`, and other writers can still append to the upload, until `forgetUpload`: for an upload without a lease. Absent if
   * unsupported.
   */
  completeAside?(key: string, at: UploadPoint): Promise<void>;
  /** Removes the upload of completed content. Idempotent. */
  forgetUpload?(key: string): Promise<void>;
  /** Reads completed content; undefined if missing. A piece is valid until the next one is requested. Throws if the range is not available. */
  read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Returns the size of completed content; undefined if missing. */
  sizeOf(key: string): Promise<number | undefined>;
  /** Removes completed content or, given its state, an upload. Idempotent. */
  remove(key: string, state?: JsonObject): Promise<void>;
  /** Returns a URL with which anyone can read the content for a limited time. Absent if unsupported. */
  signedUrl?(key: string, options: SigningOptions): Promise<string>;
  /** Lists everything stored, unordered. */
  list(): AsyncIterable<StoredContent>;
  /** Returns true without any content or marker. */
  isEmpty(signal?: AbortSignal): Promise<boolean>;
  /**
   * Claims the storage for a database and returns the storage's ID. `known` is the ID recorded in the database; if undefined, the
   * storage must be empty or already claimed by it. Throws a one-line FAILED_PRECONDITION otherwise.
   */
  claim(storeId: string, known: string | undefined, signal?: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export const uploadStart: UploadPoint = { sizeBytes: 0, state: {} };

/** Returns a unique key that cannot be guessed. */
export const makeBlobKey = (): string => randomBytes(16).toString("hex");

const keyForm = /^[0-9a-f]{32}$/;

export const isBlobKey = (text: string): boolean => keyForm.test(text);

/** Returns the key for use in a path or object name; throws if malformed. */
export const requireBlobKey = (key: string): string => {
  if (!isBlobKey(key)) throw new Error(`${JSON.stringify(key)} is no key of a blob`);
  return key;
};

/** Not RESOURCE_EXHAUSTED, because no quota is exceeded. RFC 4918 §11.5. */
export const placeFull = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the blob storage is full", { httpStatus: 507, cause });

export const placeUnreachable = (cause: unknown): Fault => unavailable("the blob storage cannot be reached", cause);

export const contentLost = (key: string, found: string): Fault =>
  new Fault("DATA_LOSS", "the uploaded content is lost", { cause: new Error(`${key}: ${found}`) });

/** Name of the marker file or object. */
export const markName = "gantry-blobs.json";

/** Owner of a storage. */
export interface PlaceMark {
  readonly store: string;
  readonly place: string;
}

export const makeMark = (store: string): PlaceMark => ({ store, place: randomBytes(16).toString("hex") });

export const readMark = (text: string, where: string): PlaceMark => {
  try {
    const { store, place }: Partial<PlaceMark> = JSON.parse(text);
    if (typeof store === "string" && typeof place === "string") return { store, place };
  } catch {
    // Handled below.
  }
  throw new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} was not written by Gantry`);
};

/** Checks a marker and returns the storage's ID. @param mark the storage's marker @param where the storage, for the operator */
export const judgeMark = (mark: PlaceMark, storeId: string, known: string | undefined, where: string): string => {
  if (mark.store !== storeId) throw new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} contains the blobs of another database`);
  if (known !== undefined && mark.place !== known)
    throw new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} does not contain this database's blobs. Give every server the same location`);
  return mark.place;
};

export const emptyPlace = (where: string): Fault =>
  new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} is empty, but this database has blobs elsewhere. Give every server the same location`);

export const occupiedPlace = (where: string): Fault =>
  new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} contains blobs of an unknown database. Use an empty location`);
