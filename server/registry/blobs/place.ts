// Where the bytes of blobs lie: what the registry asks of a file system and of S3 alike. A place knows keys and bytes; which
// digest they have, whose they are and which of them are referenced is in the database (docs/decisions/0031).

import { randomBytes } from "node:crypto";
import { Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";

/** How far an upload has come. The caller keeps it, and hands it back with the next append, by whichever server. */
export interface UploadPoint {
  readonly sizeBytes: number;
  /** The place's own notes. */
  readonly state: JsonObject;
}

export interface ByteRange {
  readonly startBytes: number;
  /** Exclusive. */
  readonly endBytes: number;
}

export interface StoredContent {
  readonly key: string;
  /** 0 where a place cannot tell it of an upload. */
  readonly sizeBytes: number;
  /** False: the rest of an upload. */
  readonly completed: boolean;
  readonly changedAtMs: number;
  /** For `remove`. */
  readonly state?: JsonObject;
}

export interface SigningOptions {
  readonly seconds: number;
  /** The Content-Type that the answer is to have. */
  readonly contentType: string;
}

export interface BlobPlace {
  /**
   * Appends behind `at`; durable when it resolves. What an append left behind `at` that failed, or whose point was never
   * kept, is overwritten. One writer for each key at a time: that is the caller's to see to. A piece of `content` is good until
   * the next one is asked for.
   * Throws what `content` throws; UNAVAILABLE where the place is full (HTTP 507) or out of reach, DATA_LOSS where what `at`
   * tells of is not there. After each of them but the last, `at` is good for another try.
   */
  append(key: string, at: UploadPoint, content: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<UploadPoint>;
  /** No more comes: the content can be read, and is durable. Idempotent, and right for an upload without a byte. Throws as append. */
  complete(key: string, at: UploadPoint): Promise<void>;
  /** Content that is completed; undefined where there is none. A piece is good until the next one is asked for. Throws where not all can be had. */
  read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Of content that is completed; undefined where there is none. */
  sizeOf(key: string): Promise<number | undefined>;
  /** Completed content, or with its state an upload. Idempotent. */
  remove(key: string, state?: JsonObject): Promise<void>;
  /** An address under which anybody reads the content for so long; a place without one has no such method. */
  signedUrl?(key: string, options: SigningOptions): Promise<string>;
  /** All that lies there, in no order. */
  list(): AsyncIterable<StoredContent>;
  /** True where nothing of a place lies there, not even its mark. */
  isEmpty(): Promise<boolean>;
  /**
   * The place's own id. `known` is the one that the store has written down, undefined where it has none yet: then the place
   * must be empty, or this store's already. Throws FAILED_PRECONDITION of one line where it is another's, or not that one.
   */
  claim(storeId: string, known: string | undefined): Promise<string>;
  close(): Promise<void>;
}

/** Where every upload begins. */
export const uploadStart: UploadPoint = { sizeBytes: 0, state: {} };

/** A key that nothing else has, and nobody guesses. */
export const makeBlobKey = (): string => randomBytes(16).toString("hex");

const keyForm = /^[0-9a-f]{32}$/;

export const isBlobKey = (text: string): boolean => keyForm.test(text);

/** The key, as part of a path or of an object's name. */
export const requireBlobKey = (key: string): string => {
  if (!isBlobKey(key)) throw new Error(`${JSON.stringify(key)} is no key of a blob`);
  return key;
};

/** There is no room: nobody's quota, so no RESOURCE_EXHAUSTED. RFC 4918, 11.5. */
export const placeFull = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the blob storage is full", { httpStatus: 507, cause });

export const placeUnreachable = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the blob storage cannot be reached", { cause });

export const contentLost = (key: string, found: string): Fault =>
  new Fault("DATA_LOSS", "the uploaded content is lost", { cause: new Error(`${key}: ${found}`) });

/** What a place says of itself: in its file or object of this name. */
export const markName = "gantry-blobs.json";

/** Whose a place is. */
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
    // As one that says nothing.
  }
  throw new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS: ${where} was not written by Gantry`);
};

/**
 * The id of a place that this store may use.
 *
 * @param mark what the place says of itself
 * @param where the place, for who set it
 */
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
