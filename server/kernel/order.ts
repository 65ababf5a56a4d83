// "name desc" to a sort (requirement: List query parameters; AIP-132). Pure.

import type { MessageFact } from "#contract/facts.ts";
import { type Fault, invalid } from "#base/fault.ts";

export interface Order {
  /** Column, which is the field's proto name. */
  readonly column: string;
  readonly descending: boolean;
}

const names = (message: MessageFact): Map<string, string> => {
  const found = new Map<string, string>();
  for (const field of message.fields) {
    if (!field.sortable) continue;
    for (const name of [field.name, field.json, ...field.orderAliases]) found.set(name, field.name);
  }
  return found;
};

const known = new WeakMap<MessageFact, Map<string, string>>();

/** The sort of a list of `message`. Throws INVALID_ARGUMENT on order_by, naming what is allowed. */
export const readOrder = (message: MessageFact, text: string, defaultOrder: string): Order => {
  let sortable = known.get(message);
  if (!sortable) {
    sortable = names(message);
    known.set(message, sortable);
  }
  const refuse = (reason: string): Fault => invalid([{ field: "order_by", description: reason }]);
  const [name = "", direction = "asc", ...rest] = (text.trim() || defaultOrder).split(/\s+/);
  const column = sortable.get(name);
  const allowed = [...new Set(sortable.values())].join(", ");
  if (!column) throw refuse(`cannot order by ${JSON.stringify(name)}; possible are ${allowed}`);
  if (rest.length > 0 || (direction !== "asc" && direction !== "desc")) throw refuse('must be one field, optionally followed by "asc" or "desc"');
  return { column, descending: direction === "desc" };
};
