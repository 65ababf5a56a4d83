// What one calls operations with, whatever the protocol: the options of a call, and the functions.

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
  /** ETag: the answer is empty (`notModified`) while the resource is as it says. */
  readonly ifNoneMatch?: string | undefined;
  /** A dry run: the server checks everything and changes nothing. */
  readonly validateOnly?: boolean | undefined;
  /** Further headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** `Operation`: how an operation is named. */
export interface Caller<Operation> {
  /** Any operation of the contract, in plain JSON of REST's shape. Throws ApiError, or the signal's reason. */
  call(operation: Operation, request: JsonObject, options?: CallOptions): Promise<JsonObject>;
  /** The same, with the headers and the ETag. */
  answer(operation: Operation, request: JsonObject, options?: CallOptions): Promise<Answer>;
  /** A list, page by page; a list without pages is one page. */
  pages(operation: Operation, request: JsonObject, options?: CallOptions & PagesOptions): AsyncIterable<JsonObject>;
  /** What a list lists, of all its pages. */
  items(operation: Operation, request: JsonObject, options?: CallOptions & PagesOptions): AsyncIterable<JsonObject>;
}
