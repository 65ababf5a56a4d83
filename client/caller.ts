// Functions and options for calling operations, for any protocol.

import type { JsonObject } from "#base/json.ts";
import type { Answer } from "./answer.ts";
import type { PagesOptions } from "./pages.ts";

export interface CallOptions {
  /** Ends the request, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the request may take, retries included; for a list, each page (default: a minute). */
  readonly timeoutMs?: number | undefined;
  /** Makes requests with the same key one request. A write without a key gets a random one, so that it can be retried. */
  readonly idempotencyKey?: string | undefined;
  /** An ETag: the server refuses the write if the resource has changed since. */
  readonly ifMatch?: string | undefined;
  /** An ETag: the response is empty (`notModified`) if the resource still matches. */
  readonly ifNoneMatch?: string | undefined;
  /** A dry run: the server validates the request and changes nothing. */
  readonly validateOnly?: boolean | undefined;
  /** Additional headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** `Operation`: how operations are identified. */
export interface Caller<Operation> {
  /** Calls an operation in REST's JSON form. Throws ApiError, or the signal's reason. */
  call(operation: Operation, request: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** The same, with headers and ETag. */
  answer(operation: Operation, request: JsonObject, options?: CallOptions): Promise<Answer>;
  /** Yields the pages of a list; a list without pages is one page. */
  pages(operation: Operation, request: JsonObject, options?: CallOptions & PagesOptions): AsyncIterable<JsonObject>;
  /** Yields the items of all pages. */
  items(operation: Operation, request: JsonObject, options?: CallOptions & PagesOptions): AsyncIterable<JsonObject>;
}
