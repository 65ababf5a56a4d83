// What the kernel is handed and what it gives back: a call of the contract, and its reply.

import type { Caller } from "#authn";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import type { CallHeaders, UnreadCall } from "#contract/call.ts";

export type { Call, CallContent, CallHeaders, UnreadCall } from "#contract/call.ts";

/** Bytes that go with a reply and are part of no message: all of them, or a range. */
export interface ReplyContent {
  readonly type: string;
  /** Of the whole. */
  readonly sizeBytes: number;
  /** The part of it that was asked for: its first byte, and the one behind its last. */
  readonly range?: { readonly startBytes: number; readonly endBytes: number };
  /** The bytes, a piece of which is good until the next one is asked for; opened where they are sent, and not for who asks for the headers alone. */
  readonly open: () => Promise<string | AsyncIterable<Uint8Array>>;
  /** Where they lie besides: the client may be sent there. */
  readonly elsewhere?: string;
}

/** A file that is the answer, beside its message. */
export interface ReplyFile {
  readonly type: string;
  /** Made as they are taken, once. Whoever does not take all of them ends them (`return`): the file has a turn until then. */
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

export interface Reply {
  /** The response message as plain values; a transport leaves out nothing and adds nothing. */
  readonly message: JsonObject;
  /** The message as JSON text, where the kernel needed it for the ETag. */
  readonly json?: string;
  /** Answer headers (gRPC: initial metadata), lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A list of version 1: its parts in order, each by the call's packing. */
  readonly parts?: readonly Uint8Array[];
  /** REST only: 304 for an unchanged Get. */
  readonly httpStatus?: number;
  /** Of an operation that gives content (contract: Distribution). */
  readonly content?: ReplyContent;
  /** Of an operation that gives a file. */
  readonly file?: ReplyFile;
}

/** Which request this is, and from where. */
export const requestSourceOf = (call: CallHeaders): RequestSource => ({ origin: call.origin(), requestId: call.requestId });

/**
 * The kernel as a transport sees it. Throws a Fault for every refusal.
 * @param admitted who asks, where the protocol had to know before it could read which operation is meant (admit.ts)
 */
export type Serve = (call: UnreadCall, admitted?: Caller) => Promise<Reply>;
