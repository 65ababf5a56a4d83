// The typed client behind the generated resources. Types and table come from the same descriptors; this is the only place that
// casts JSON to typed messages.

import { isObject, type JsonObject } from "#base/json.ts";
import type { Answer, ApiFile } from "./answer.ts";
import { ApiCall, type ApiResponse } from "./api-call.ts";
import type { CallOptions } from "./caller.ts";
import type { Client } from "./client.ts";
import { withDefaults } from "./defaults.ts";
import { messageDefaults } from "./gen/defaults.ts";
import { List } from "./list.ts";
import type { PagesOptions } from "./pages.ts";
import { type OperationRow, shapeOfRow } from "./table.ts";

/** Options of one request. */
export interface RequestOptions extends Omit<CallOptions, "ifNoneMatch"> {}

/** Options of a list. */
export interface ListOptions extends Omit<RequestOptions, "idempotencyKey" | "ifMatch" | "validateOnly">, PagesOptions {}

/** Returns the request in JSON: the mask as text, and `parent` as its filter. */
const jsonOf = (row: OperationRow, request: object): JsonObject => {
  const { ...json }: JsonObject = request as JsonObject;
  const mask = row.mask === undefined ? undefined : json[row.mask];
  if (row.mask !== undefined && Array.isArray(mask)) json[row.mask] = mask.join(",");
  if (row.parent !== undefined && json.parent !== undefined) {
    const { parent, uidp, ...rest } = json;
    return { ...rest, uidp: { ...(isObject(uidp) ? uidp : {}), childrenOf: parent } };
  }
  return json;
};

const dataOf = (row: OperationRow, reply: JsonObject): JsonObject => (row.reply === undefined ? reply : withDefaults(messageDefaults, row.reply, reply));

/** Sends the requests of generated resources. */
export class TypedClient {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  one<Data>(row: OperationRow, request: object, options?: RequestOptions): ApiCall<Data> {
    return new ApiCall(this.#response<Data>(row, request, options));
  }

  list<Item, Page>(row: OperationRow, request: object, options?: ListOptions): List<Item, Page> {
    return new List<Item, Page>(
      () => this.#pages<Page>(row, request, options),
      // The generated table names this field of the page.
      (page) => (page as Readonly<Record<string, readonly Item[] | undefined>>)[row.items ?? ""] ?? [],
      () => this.#response<Page>(row, request, options),
    );
  }

  file(row: OperationRow, request: object, options?: RequestOptions): Promise<ApiFile> {
    return this.#client.file(shapeOfRow(row), jsonOf(row, request), options);
  }

  async #response<Data>(row: OperationRow, request: object, options?: RequestOptions): Promise<ApiResponse<Data>> {
    const { reply, headers, etag, requestId }: Answer = await this.#client.answer(shapeOfRow(row), jsonOf(row, request), options);
    // The types are generated from the message that the server returns.
    const data = (row.isEmpty ? undefined : dataOf(row, reply)) as Data;
    return { data, headers, etag, requestId };
  }

  async *#pages<Page>(row: OperationRow, request: object, options?: ListOptions): AsyncGenerator<Page> {
    for await (const page of this.#client.pages(shapeOfRow(row), jsonOf(row, request), options)) yield dataOf(row, page) as Page;
  }
}
