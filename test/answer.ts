// What a call says, and what it is answered, whichever protocol it comes over.

import type { JsonObject } from "#base/json.ts";

export interface Answer {
  /** gRPC status code; 0 for success. */
  readonly code: number;
  /** The reply, or {} on failure. */
  readonly reply: JsonObject;
  /** The error's text and typed details; "" and [] on success. */
  readonly message: string;
  readonly details: readonly JsonObject[];
  /** HTTP status; undefined over gRPC. */
  readonly status: number | undefined;
  /** HTTP headers, or gRPC's metadata: what came before the reply and what came behind it. */
  readonly headers: Readonly<Record<string, string>>;
  /** REST: the body as it came. */
  readonly raw: string;
}

export interface CallOptions {
  readonly token?: string | undefined;
  /** HTTP headers; over gRPC metadata of the same names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Everything but the commit: a query parameter over REST, metadata over gRPC. */
  readonly validateOnly?: boolean | undefined;
}
