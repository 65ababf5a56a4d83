// The page that a list's request asks for, and the answer that it becomes (AIP-158; requirement: Conventions). What
// lies between, finding the rows, is the list's own.

import type { MessageFact } from "#contract/facts.ts";
import { type JsonObject, text } from "#base/json.ts";
import type { Outcome, ReadContext } from "./context.ts";
import { type Order, readOrder } from "./order.ts";
import { type Position, queryOf, readPageToken, writePageToken } from "./page.ts";
import { pageSizeOf, pluralOf, skipOf } from "./paging.ts";

export interface PageRequest {
  readonly order: Order;
  readonly limit: number;
  readonly skip: number;
  /** The last row of the page before, and the total as it was counted for the first. */
  readonly after: Position | undefined;
  /** The answer. `last`: the page's last row, where there is a next page. */
  answer(records: readonly JsonObject[], total: number, last: { readonly value: string; readonly uid: string } | undefined): Outcome;
}

/**
 * Reads it from a request that has been found in order (validate.ts).
 * @param message what the list shows
 */
export const readPageRequest = ({ request, method, services, caller, nowMs }: ReadContext, message: MessageFact): PageRequest => {
  const skip = skipOf(request);
  const token = text(request, "pageToken");
  // A token that is narrowed to fewer rights is another caller: the first page's total was not counted for it.
  const who = JSON.stringify([caller?.uid, caller?.capabilities, caller?.scopes]);
  const query = queryOf(who, method.name, request);
  const position = token ? readPageToken(services.seal, query, token, nowMs) : undefined;
  return {
    order: readOrder(message, text(request, "orderBy"), method.defaultOrder),
    limit: pageSizeOf(request),
    skip,
    after: position === "expired" ? undefined : position,
    answer(records, total, last) {
      const next = last && writePageToken(services.seal, query, { ...last, total }, nowMs);
      const reply = {
        [pluralOf(method)?.json ?? ""]: [...records],
        ...(next === undefined ? {} : { nextPageToken: next }),
        totalCount: String(total),
        skipped: skip,
      };
      return position === "expired" ? { reply, headers: { "gantry-page-restarted": "true" } } : { reply };
    },
  };
};
