// Parses the paging of a list: page_size, skip, order_by (requirement: List query parameters, Limits). Pure.

import type { FieldFact, MethodFact } from "#contract/facts.ts";
import type { Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Order } from "#base/page.ts";
import { readOrder } from "./order.ts";

/** 64-bit numbers, used by version 1 for some page sizes, are texts. */
const integerAt = (request: JsonObject, key: string): number => Number(request[key] ?? 0);

/** 0 or absent: 50; above 200: 200. */
export const pageSizeOf = (request: JsonObject): number => {
  const size = integerAt(request, "pageSize");
  return size === 0 ? limits.pageSizeDefault : Math.min(size, limits.pageSizeMax);
};

export const skipOf = (request: JsonObject): number => integerAt(request, "skip");

/** Returns the only repeated message field of a List's response: "repos". */
export const pluralOf = (method: MethodFact): FieldFact | undefined => method.output.fields.find((field) => field.shape === "list" && field.message);

/** Returns the order of a list and the violations of its paging; both empty for operations without pages. */
export const readPaging = (method: MethodFact, request: JsonObject): { readonly order: Order | undefined; readonly violations: readonly Violation[] } => {
  if (!method.input.byName.has("page_token")) return { order: undefined, violations: [] };
  const violations: Violation[] = [];
  if (integerAt(request, "pageSize") < 0) violations.push({ field: "page_size", description: "must not be negative" });
  if (skipOf(request) < 0) violations.push({ field: "skip", description: "must not be negative" });
  const message = pluralOf(method)?.message;
  // Lists of version 1 have a fixed order.
  if (!message || !method.input.byName.has("order_by")) return { order: undefined, violations };
  const read = readOrder(message, text(request, "orderBy"), method.defaultOrder);
  if ("order" in read) return { order: read.order, violations };
  return { order: undefined, violations: [...violations, read.violation] };
};
