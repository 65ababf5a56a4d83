// Returns the resource path that a call names, and its request without output-only fields. Pure.

import { FoundViolations, invalid } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import type { Order } from "#base/page.ts";
import { isUid } from "#base/uid.ts";
import type { MethodFact } from "#contract/facts.ts";
import { optionalInView } from "#contract/views.ts";
import type { Call } from "./call.ts";
import { checkMessage, checkRequest, resourceField, withoutOutputOnly } from "./field-behavior.ts";
import { type Mask, maskedFields, readMask } from "./mask.ts";
import { readPaging } from "./paging.ts";

const scopeValue = ({ scope }: MethodFact, request: JsonObject): Json | undefined => {
  let value: Json | undefined = request;
  for (const key of scope ?? []) value = isObject(value) ? value[key] : undefined;
  return value;
};

/** Returns the resource path of a request that may be unread, unscoped or invalid; "" if it has none. */
export const resourcePathOrEmpty = (method: MethodFact, request: JsonObject): string => {
  const value = scopeValue(method, request);
  return typeof value === "string" && isUid(value) ? value : "";
};

/**
 * Returns the uid at which the capabilities are required, read from the request and never from a row, so that the decision reveals
 * nothing about what exists. Undefined for unscoped and open operations. Throws INVALID_ARGUMENT if it is not a uid.
 */
export const resourcePathOf = ({ method, request }: Call): string | undefined => {
  if (!method.scope) return undefined;
  const value = scopeValue(method, request);
  const [first = "", ...inner] = method.scope;
  // Outside a body, fields have their proto names (field-behavior.ts).
  const field = inner.at(-1) ?? (method.http[0]?.body === "*" ? first : (method.input.byName.get(first)?.name ?? first));
  if (typeof value !== "string" || value === "") throw invalid([{ field, description: `${field} is required` }]);
  if (!isUid(value)) throw invalid([{ field, description: `${field} must be a uid: 40 hex characters, then "/" and 16 more for each level` }]);
  return value;
};

/**
 * Returns the groups that a list's filter names, each of which requires the capabilities (contract: groupFilter). Throws
 * INVALID_ARGUMENT if one is not a uid.
 */
export const namedGroupsOf = ({ method: { groupFilter, input }, request }: Call): string[] => {
  const filter = groupFilter === undefined ? undefined : input.byName.get(groupFilter);
  if (!filter) return [];
  const named = part(request, filter.json);
  return (filter.message?.fields ?? []).flatMap(({ json, name }) => {
    const uid = text(named, json);
    const at = `${filter.name}.${name}`;
    if (uid !== "" && !isUid(uid)) throw invalid([{ field: at, description: `${name} must be a uid: 40 hex characters, then "/" and 16 more for each level` }]);
    return uid === "" ? [] : [uid];
  });
};

/** For the log: returns the path that the filters of an unscoped request name; "" if none. */
export const filteredPlaceOf = ({ request }: Call): string => {
  const filter = part(request, "uidp");
  const named = ["descendantsOf", "childrenOf", "ancestorsOf"].map((name) => text(filter, name)).find((uid) => uid !== "") ?? "";
  return isUid(named) ? named : "";
};

export interface ValidRequest {
  readonly request: JsonObject;
  readonly mask: Mask | undefined;
  readonly order: Order | undefined;
}

/**
 * Returns the request for the verbs. Throws INVALID_ARGUMENT with at most the maximum number of violations: unreadable parts, mask,
 * field behavior, patterns, paging. For an update it checks the masked fields; the verb checks the result again.
 */
export const validate = (call: Call): ValidRequest => {
  const { method, request } = call;
  const found = new FoundViolations();
  for (const { field, description } of call.problems) found.add(field, description);
  // A dry run that reveals whether a token or code is valid would allow guessing without using it up, and without the consequences of
  // using one twice.
  if (call.validateOnly && method.credentials) found.add("validate_only", `${method.rpc} cannot be rehearsed`);
  // If the body could not be read at all, violations of its fields are meaningless.
  if (found.list.some(({ field }) => field === "body")) throw invalid(found.list);
  found.nextStep();
  const resource = resourceField(method);
  let cleaned: JsonObject | undefined;
  let mask: Mask | undefined;
  if (resource?.message) {
    cleaned = withoutOutputOnly(resource.message, part(request, resource.json));
    // The uid of an update is in the resource and stays; other output-only fields are dropped.
    const key = method.scope?.[0] === resource.json ? method.scope.at(-1) : undefined;
    const uid = key === undefined ? undefined : part(request, resource.json)[key];
    if (key !== undefined && uid !== undefined) cleaned[key] = uid;
    const [message, value] = [resource.message, cleaned];
    const read = method.input.byName.has("update_mask") ? readMask(message, text(request, "updateMask"), call.bodyPaths, value) : undefined;
    mask = read?.mask;
    // A nested path changes only part of its message: the verb checks it merged with the current resource.
    const only = mask && maskedFields({ ...mask, paths: mask.paths.filter(({ length }) => length === 1) });
    for (const { field, description } of read?.violations ?? []) found.add(field, description);
    // Fields that only version 1 has are not fields of version 2.
    for (const field of call.view ? [] : message.fields.filter(({ version1Only }) => version1Only)) {
      if (value[field.json] !== undefined) found.add(field.json, `is not a field of ${message.short}`);
      else if (mask?.paths.some(([first]) => first === field.json) && !mask.replacesAll)
        found.add("update_mask", `${JSON.stringify(field.name)} is not a field of ${message.short}`);
    }
    checkMessage(message, value, "", "json", found, only, call.view && optionalInView(call.view));
    found.nextStep();
  }
  checkRequest(method, request, found);
  found.nextStep();
  const paging = readPaging(method, request);
  for (const { field, description } of paging.violations) found.add(field, description);
  if (found.list.length > 0) throw invalid(found.list);
  return { request: cleaned && resource ? { ...request, [resource.json]: cleaned } : request, mask, order: paging.order };
};
