// What one calls operations with, whatever the protocol: the options of a call, and the functions.

import type { JsonObject } from "#base/json.ts";
import type { Answer } from "./answer.ts";
import type { PagesOptions } from "./pages.ts";

export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long it may take with all its tries; for a list, each page. */
  readonly timeoutMs?: number | undefined;
  /** Two calls with the same key are one. A write without one gets its own, and is tried again with it. */
  readonly idempotencyKey?: string | undefined;
  /** ETag: the write is done only while the resource is as it says. */
  readonly ifMatch?: string | undefined;
  /** ETag: the answer is empty (`notModified`) while the resource is as it says. */
  readonly ifNoneMatch?: string | undefined;
  /** Everything but the change. */
  readonly validateOnly?: boolean | undefined;
  /** In lower case, beside the client's own. */
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
