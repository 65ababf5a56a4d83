// The interface between the client and a protocol: one attempt of a call, and its response.

import type { JsonObject } from "#base/json.ts";
import type { OperationShape } from "./operation.ts";

/** A response with its metadata. */
export interface Answer<Reply = JsonObject> {
  readonly reply: Reply;
  /** Headers, or gRPC metadata, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** ETag of a single resource, for `ifMatch` and `ifNoneMatch`. */
  readonly etag: string | undefined;
  readonly requestId: string | undefined;
  /** True if the resource matches `ifNoneMatch`; `reply` is empty. */
  readonly notModified: boolean;
}

export const answerWith = (reply: JsonObject, headers: Readonly<Record<string, string>>, notModified = false): Answer => ({
  reply,
  headers,
  etag: headers["etag"],
  requestId: headers["x-request-id"],
  notModified,
});

/** A file from the server. */
export interface ApiFile {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The content as it arrives, of any size. Read it once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface Attempt {
  readonly method: OperationShape;
  /** In REST's JSON form. */
  readonly request: JsonObject;
  /** In lower case, with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly validateOnly: boolean;
  /** Aborts the attempt, for the caller or at the timeout. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
}

/** A protocol. Both functions throw ApiError, or the signal's reason. */
export interface Transport {
  readonly call: (attempt: Attempt) => Promise<Answer>;
  readonly file: (attempt: Attempt) => Promise<ApiFile>;
}
