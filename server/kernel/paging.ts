// How much of a list is asked for, and in which order: page_size, skip, order_by (requirement: List query parameters,
// Limits). Pure.

import type { FieldFact, MethodFact } from "#contract/facts.ts";
import type { Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Order } from "#base/page.ts";
import { readOrder } from "./order.ts";

/** A 64-bit number, which version 1 has for the size of some pages, is a text. */
const integerAt = (request: JsonObject, key: string): number => Number(request[key] ?? 0);

/** 0 or none: 50; above 200: 200. */
export const pageSizeOf = (request: JsonObject): number => {
  const size = integerAt(request, "pageSize");
  return size === 0 ? limits.pageSizeDefault : Math.min(size, limits.pageSizeMax);
};

export const skipOf = (request: JsonObject): number => integerAt(request, "skip");

/** The one repeated message field of a List's response: "repos". */
export const pluralOf = (method: MethodFact): FieldFact | undefined => method.output.fields.find((field) => field.shape === "list" && field.message);

/** The order of a list, and what is wrong with its paging; neither for operations that do not page. */
export const readPaging = (method: MethodFact, request: JsonObject): { readonly order: Order | undefined; readonly violations: readonly Violation[] } => {
  if (!method.input.byName.has("page_token")) return { order: undefined, violations: [] };
  const violations: Violation[] = [];
  if (integerAt(request, "pageSize") < 0) violations.push({ field: "page_size", description: "must not be negative" });
  if (skipOf(request) < 0) violations.push({ field: "skip", description: "must not be negative" });
  const message = pluralOf(method)?.message;
  // A list of version 1 has an order that nobody chooses.
  if (!message || !method.input.byName.has("order_by")) return { order: undefined, violations };
  const read = readOrder(message, text(request, "orderBy"), method.defaultOrder);
  if ("order" in read) return { order: read.order, violations };
  return { order: undefined, violations: [...violations, read.violation] };
};
