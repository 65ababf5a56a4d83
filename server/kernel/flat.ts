// Lists of what has no uid and lies in no group: the catalogue of libraries, the open feed. The same words, tokens and
// envelope as of any other List (requirement: List query parameters); the resource reads the rows.

import type { MessageFact } from "#contract/facts.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readPageRequest } from "./page-request.ts";
import type { Outcome, ReadContext } from "./context.ts";
import type { Order } from "./order.ts";
import { pluralOf } from "./paging.ts";

/** What a page shall hold. */
export interface FlatAsk {
  readonly order: Order;
  /** Where the page before ended: `key` of its last record. */
  readonly after: readonly string[] | undefined;
  readonly skip: number;
  /** One more than is shown: it tells whether there is a next page. */
  readonly limit: number;
  /** The total as the first page counted it. */
  readonly total: number | undefined;
}

export interface FlatRecord {
  /** What places it in the order, so that the next page can go on behind it. */
  readonly key: readonly string[];
  readonly record: JsonObject;
}

export interface FlatPage {
  readonly records: readonly FlatRecord[];
  readonly total: number;
}

/** The message that a List's response repeats. */
const listed = ({ method }: ReadContext): MessageFact => {
  const message = pluralOf(method)?.message;
  if (!message) throw new Error(`${method.name} lists nothing`);
  return message;
};

/**
 * A List that the resource reads itself.
 * @param whole everything at once (decisions: Lists; a gRPC request without the additive page fields)
 */
export const flatList = async (context: ReadContext, read: (ask: FlatAsk) => Promise<FlatPage>, whole = false): Promise<Outcome> => {
  const { order, limit: size, skip, after, answer } = readPageRequest(context, listed(context));
  const limit = whole ? limits.wholeListMax : size;
  const key = after && (JSON.parse(after.value) as string[]);
  const { records, total } = await read({ order, after: key, skip, limit: limit + 1, total: after?.total });
  const shown = records.slice(0, limit);
  const last = records.length > limit ? shown.at(-1) : undefined;
  return answer(
    shown.map(({ record }) => record),
    total,
    last && { value: JSON.stringify(last.key), uid: "" },
  );
};
