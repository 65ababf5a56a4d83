// Options and response of a call, for any protocol.

import type { JsonObject } from "#base/json.ts";

export interface Answer {
  /** gRPC status code; 0 for success. */
  readonly code: number;
  /** The reply, or {} on failure. */
  readonly reply: JsonObject;
  /** Error message and typed details; "" and [] on success. */
  readonly message: string;
  readonly details: readonly JsonObject[];
  /** HTTP status; undefined over gRPC. */
  readonly status: number | undefined;
  /** HTTP headers, or gRPC metadata including trailers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw body over REST. */
  readonly raw: string;
}

export interface CallOptions {
  readonly token?: string | undefined;
  /** HTTP headers, or gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Validates without committing: a query parameter over REST, metadata over gRPC. */
  readonly validateOnly?: boolean | undefined;
}
