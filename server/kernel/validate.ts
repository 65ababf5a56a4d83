// What a call asks for: its place, and its request free of what only the server may say. Pure.

import { invalid, type Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import { checkMessage, checkRequest, resourceField, withoutOutputOnly } from "./field-behavior.ts";
import type { Call } from "./call.ts";
import { readMask, touched } from "./mask.ts";
import { pagingViolations } from "./paging.ts";

const heldAt = ({ method, request }: Call): Json | undefined => {
  let held: Json | undefined = request;
  for (const key of method.scope ?? []) held = isObject(held) ? held[key] : undefined;
  return held;
};

/** The same where nobody asks whether it is one; "" for none. */
export const namedResourcePath = (call: Call): string => {
  const held = heldAt(call);
  return typeof held === "string" && isUid(held) ? held : "";
};

/**
 * The uid at which the capabilities are needed, read from the request and never from a row, so that the decision can
 * tell nothing of what exists. Undefined for unscoped and open operations.
 * Throws INVALID_ARGUMENT where it is no uid: that is form, not existence.
 */
export const resourcePathOf = (call: Call): string | undefined => {
  const { method } = call;
  if (!method.scope) return undefined;
  const held = heldAt(call);
  const [first = "", ...inner] = method.scope;
  // Beside a body fields have their proto names (field-behavior.ts).
  const field = inner.at(-1) ?? (method.http[0]?.body === "*" ? first : (method.input.byName.get(first)?.name ?? first));
  if (typeof held !== "string" || held === "") throw invalid([{ field, description: `${field} is required` }]);
  if (!isUid(held)) throw invalid([{ field, description: `${field} must be a uid: 40 hex characters, then "/" and 16 more for each level` }]);
  return held;
};

/**
 * The request as the verbs see it. Throws INVALID_ARGUMENT with every violation: what the door could not read, the
 * mask, field behaviour, patterns, paging. An update is looked at as far as its mask goes; its verb looks once more at
 * what comes of it.
 */
export const validate = (call: Call): JsonObject => {
  const { method, request } = call;
  const violations = [...call.problems];
  // Of a body that could not be read at all, its fields say nothing more.
  if (violations.some(({ field }) => field === "body")) throw invalid(violations);
  const known = new Set(violations.map(({ field }) => field));
  const add = (found: readonly Violation[]): void => {
    // One by one: as arguments of one push, a body of nothing but mistakes would overflow the stack.
    for (const violation of found) if (!known.has(violation.field)) violations.push(violation);
    for (const { field } of found) known.add(field);
  };
  const resource = resourceField(method);
  let cleaned: JsonObject | undefined;
  if (resource?.message) {
    cleaned = withoutOutputOnly(resource.message, part(request, resource.json));
    // The place of an update is in the resource and is kept; everything else that only the server sets is dropped.
    const key = method.scope?.[0] === resource.json ? method.scope.at(-1) : undefined;
    const uid = key === undefined ? undefined : part(request, resource.json)[key];
    if (key !== undefined && uid !== undefined) cleaned[key] = uid;
    const found: Violation[] = [];
    if (method.input.byName.has("update_mask")) {
      const { mask, violations: wrong } = readMask(resource.message, text(request, "updateMask"), call.bodyPaths, cleaned);
      for (const violation of wrong) found.push(violation);
      // A nested path says nothing of the rest of its message: the verb looks at that, merged with what is there.
      checkMessage(resource.message, cleaned, "", "json", found, touched({ ...mask, paths: mask.paths.filter(({ length }) => length === 1) }));
    } else checkMessage(resource.message, cleaned, "", "json", found);
    add(found);
  }
  add(checkRequest(method, request));
  add(pagingViolations(method, request));
  if (violations.length > 0) throw invalid(violations);
  return cleaned && resource ? { ...request, [resource.json]: cleaned } : request;
};
