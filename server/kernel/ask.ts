// What a call asks for: its place, and its request free of what only the server may say. Pure.

import { invalid } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import { checkMessage, checkRequest, resourceField, withoutOutputOnly } from "./behaviour.ts";
import type { Call } from "./call.ts";

/**
 * The uid at which the capabilities are needed, read from the request and never from a row, so that the decision can
 * tell nothing of what exists. Undefined for unscoped and open operations.
 * Throws INVALID_ARGUMENT where it is no uid: that is form, not existence.
 */
export const placeOf = ({ method, request }: Call): string | undefined => {
  if (!method.scope) return undefined;
  let held: Json | undefined = request;
  for (const key of method.scope) held = isObject(held) ? held[key] : undefined;
  const field = method.scope.at(-1) ?? "uid";
  if (typeof held !== "string" || held === "") throw invalid([{ field, description: `${field} is required` }]);
  if (!isUid(held)) throw invalid([{ field, description: `${field} must be a uid: 40 hex characters, then "/" and 16 more for each level` }]);
  return held;
};

/**
 * The request as the verbs see it. Throws INVALID_ARGUMENT with every violation: what the door could not read, field
 * behaviour, patterns. An update's resource is checked by its own verb, which knows the mask.
 */
export const behave = (call: Call): JsonObject => {
  const { method, request } = call;
  const violations = [...call.problems];
  const resource = resourceField(method);
  const known = new Set(violations.map(({ field }) => field));
  const add = (found: readonly { field: string; description: string }[]): void => {
    for (const violation of found) if (!known.has(violation.field)) violations.push(violation);
  };
  if (resource?.message) {
    const value = request[resource.json];
    const body = isObject(value) ? value : {};
    // The place of an update is in the resource and is kept; everything else that only the server sets is dropped.
    const uid = method.scope?.[0] === resource.json ? body[method.scope.at(-1) ?? ""] : undefined;
    const cleaned = withoutOutputOnly(resource.message, body);
    if (uid !== undefined) cleaned[method.scope?.at(-1) ?? ""] = uid;
    if (!method.input.byName.has("update_mask")) {
      const found: { field: string; description: string }[] = [];
      checkMessage(resource.message, cleaned, "", "json", found);
      add(found);
    }
    add(checkRequest(method, request));
    if (violations.length > 0) throw invalid(violations);
    return { ...request, [resource.json]: cleaned };
  }
  add(checkRequest(method, request));
  if (violations.length > 0) throw invalid(violations);
  return request;
};
