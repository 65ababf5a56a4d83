// The kernel's input and output: a call of the contract, and its reply.

import type { Caller } from "#authn";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import type { CallHeaders, UnreadCall } from "#contract/call.ts";

export type { Call, CallContent, CallHeaders, UnreadCall } from "#contract/call.ts";

/** Bytes sent with a reply outside its message, complete or as a range. */
export interface ReplyContent {
  readonly type: string;
  readonly sizeBytes: number;
  /** The requested range: its first byte, and the byte after its last. */
  readonly range?: { readonly startBytes: number; readonly endBytes: number };
  /** Opens the bytes when they are sent; not called for HEAD. Each chunk is valid until the next one is requested. */
  readonly open: () => Promise<string | AsyncIterable<Uint8Array>>;
  /** URL of another location to which the client may be redirected. */
  readonly elsewhere?: string;
}

export interface ReplyFile {
  readonly type: string;
  /** Generated while they are read, once. A reader that stops early must call `return`: the file occupies a concurrency slot until then. */
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

export interface Reply {
  readonly message: JsonObject;
  /** The message as JSON text, if the kernel needed it for the ETag. */
  readonly json?: string;
  /** Lower case; over gRPC, initial metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For a version 1 list: its parts in order, each encoded by the call's packing. */
  readonly parts?: readonly Uint8Array[];
  /** REST only: 304 for an unchanged Get. */
  readonly httpStatus?: number;
  readonly content?: ReplyContent;
  readonly file?: ReplyFile;
}

export const requestSourceOf = (call: CallHeaders): RequestSource => ({ origin: call.origin(), requestId: call.requestId });

/**
 * Serves a call; throws a Fault for every error.
 * @param admitted the caller, if the protocol had to authenticate before it knew the operation (admit.ts)
 */
export type Serve = (call: UnreadCall, admitted?: Caller) => Promise<Reply>;
