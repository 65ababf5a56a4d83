// A list: its items over all pages, or page by page.

import { ApiCall, type ApiResponse } from "./api-call.ts";

/**
 * The items of a list. It sends a request when it is iterated, and one for each further page.
 *
 * @example
 * ```ts
 * for await (const group of gantry.iam.groups.list()) console.log(group.name);
 * ```
 */
export class List<Item, Page> implements AsyncIterable<Item> {
  readonly #pages: () => AsyncIterable<Page>;
  readonly #itemsOf: (page: Page) => readonly Item[];
  readonly #first: () => Promise<ApiResponse<Page>>;

  constructor(pages: () => AsyncIterable<Page>, itemsOf: (page: Page) => readonly Item[], first: () => Promise<ApiResponse<Page>>) {
    this.#pages = pages;
    this.#itemsOf = itemsOf;
    this.#first = first;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for await (const page of this.#pages()) yield* this.#itemsOf(page);
  }

  /**
   * Iterates over whole pages, each with its token and, if the list counts them, the total.
   *
   * @example
   * ```ts
   * for await (const page of gantry.iam.groups.list({ pageSize: 200 }).pages()) console.log(page.groups.length, page.totalCount);
   * ```
   */
  pages(): AsyncIterable<Page> {
    return this.#pages();
  }

  /**
   * Requests one page: the first, or the one of the `pageToken` in the request.
   *
   * @example
   * ```ts
   * const { groups, nextPageToken } = await gantry.iam.groups.list({ pageSize: 10 }).page();
   * ```
   */
  page(): ApiCall<Page> {
    return new ApiCall(this.#first());
  }

  /**
   * Reads items into an array, at most `limit` of them.
   *
   * @example
   * ```ts
   * const groups = await gantry.iam.groups.list().toArray({ limit: 1000 });
   * ```
   */
  async toArray({ limit }: { readonly limit: number }): Promise<Item[]> {
    const items: Item[] = [];
    if (limit <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= limit) break;
    }
    return items;
  }
}
