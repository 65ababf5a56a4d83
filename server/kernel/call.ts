// What the kernel is handed and what it gives back: a call of the contract, and its reply.

import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import type { CallHeaders, UnreadCall } from "#contract/call.ts";

export type { Call, CallHeaders, UnreadCall } from "#contract/call.ts";

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
}

/** Which request this is, and from where. */
export const requestSourceOf = (call: CallHeaders): RequestSource => ({ origin: call.origin(), requestId: call.requestId });

/** The kernel as a transport sees it. Throws a Fault for every refusal. */
export type Serve = (call: UnreadCall) => Promise<Reply>;
