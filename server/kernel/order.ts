// Parses "name desc" into a sort order (requirement: List query parameters; AIP-132). Pure.

import type { MessageFact } from "#contract/facts.ts";
import type { Violation } from "#base/fault.ts";
import type { Order } from "#base/page.ts";

const sortableNames = (message: MessageFact): Map<string, string> => {
  const columns = new Map<string, string>();
  for (const field of message.fields) {
    if (!field.sortable) continue;
    for (const name of [field.name, field.json, ...field.orderAliases]) columns.set(name, field.name);
  }
  return columns;
};

const columnsByName = new WeakMap<MessageFact, Map<string, string>>();

/** Returns the order of a list of `message`, or a violation that lists the allowed fields. */
export const readOrder = (message: MessageFact, text: string, defaultOrder: string): { readonly order: Order } | { readonly violation: Violation } => {
  let columns = columnsByName.get(message);
  if (!columns) {
    columns = sortableNames(message);
    columnsByName.set(message, columns);
  }
  const refuse = (description: string): { violation: Violation } => ({ violation: { field: "order_by", description } });
  const [name = "", direction = "asc", ...rest] = (text.trim() || defaultOrder).split(/\s+/);
  const column = columns.get(name);
  if (!column) return refuse(`cannot order by ${JSON.stringify(name)}; must be one of ${[...new Set(columns.values())].join(", ")}`);
  if (rest.length > 0 || (direction !== "asc" && direction !== "desc")) return refuse('must be one field, optionally followed by "asc" or "desc"');
  return { order: { column, descending: direction === "desc" } };
};
