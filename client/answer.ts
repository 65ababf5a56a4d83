// What passes between the client and a protocol: one try of one call, and its answer.

import type { JsonObject } from "#base/json.ts";
import type { OperationShape } from "./operation.ts";

/** An answer with what came beside it. */
export interface Answer<Reply = JsonObject> {
  readonly reply: Reply;
  /** Headers, or metadata over gRPC, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of a single resource that was read or changed: what `ifMatch` and `ifNoneMatch` take. */
  readonly etag: string | undefined;
  readonly requestId: string | undefined;
  /** The resource is as `ifNoneMatch` says, and `reply` is empty. */
  readonly notModified: boolean;
}

/** The answer with these headers. */
export const answerWith = (reply: JsonObject, headers: Readonly<Record<string, string>>, notModified = false): Answer => ({
  reply,
  headers,
  etag: headers["etag"],
  requestId: headers["x-request-id"],
  notModified,
});

/** A file from the server. */
export interface ApiFile {
  /** The media type. */
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The content as it arrives, of any size. Read it once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface Attempt {
  readonly method: OperationShape;
  /** In plain JSON of REST's shape. */
  readonly request: JsonObject;
  /** In lower case, with the credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly validateOnly: boolean;
  /** Ends the try: the caller's word, or the time limit. */
  readonly signal: AbortSignal;
  /** What is left of the time limit. */
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
}

/** A protocol. Both functions throw ApiError, or whatever the signal's reason is. */
export interface Transport {
  readonly call: (attempt: Attempt) => Promise<Answer>;
  readonly file: (attempt: Attempt) => Promise<ApiFile>;
}
