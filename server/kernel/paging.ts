// How much of a list is asked for, and in which order: page_size, skip, order_by (requirement: List query parameters,
// Limits). Pure.

import type { FieldFact, MethodFact } from "#contract/facts.ts";
import { Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readOrder } from "./order.ts";

const integer = (request: JsonObject, key: string): number => {
  const value = request[key];
  return typeof value === "number" ? value : 0;
};

/** 0 or none: 50; above 200: 200. */
export const pageSizeOf = (request: JsonObject): number => {
  const size = integer(request, "pageSize");
  return size === 0 ? limits.pageSizeDefault : Math.min(size, limits.pageSizeMax);
};

export const skipOf = (request: JsonObject): number => integer(request, "skip");

/** The one repeated message field of a List's response: "repos". */
export const pluralOf = (method: MethodFact): FieldFact | undefined => method.output.fields.find((field) => field.shape === "list" && field.message);

const orderViolations = (method: MethodFact, request: JsonObject): readonly Violation[] => {
  const message = pluralOf(method)?.message;
  if (!message) return [];
  try {
    readOrder(message, text(request, "orderBy"), method.defaultOrder);
    return [];
  } catch (thrown) {
    const detail = thrown instanceof Fault ? thrown.details.find(({ kind }) => kind === "fields") : undefined;
    if (detail?.kind !== "fields") throw thrown;
    return detail.violations;
  }
};

/** What is wrong with a list's paging; none for operations that do not page. */
export const pagingViolations = (method: MethodFact, request: JsonObject): Violation[] => {
  if (!method.input.byName.has("page_token")) return [];
  const out: Violation[] = [];
  if (integer(request, "pageSize") < 0) out.push({ field: "page_size", description: "must not be negative" });
  const skip = skipOf(request);
  if (skip < 0) out.push({ field: "skip", description: "must not be negative" });
  if (skip > limits.skipMax) out.push({ field: "skip", description: `must be at most ${limits.skipMax}; follow nextPageToken to go deeper` });
  return [...out, ...orderViolations(method, request)];
};
