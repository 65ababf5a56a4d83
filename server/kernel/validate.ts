// What a call asks for: the resource path that it names, and its request free of what only the server may set. Pure.

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

/** What stands where the contract says that the resource path of a request is. */
const scopeValue = ({ scope }: MethodFact, request: JsonObject): Json | undefined => {
  let value: Json | undefined = request;
  for (const key of scope ?? []) value = isObject(value) ? value[key] : undefined;
  return value;
};

/** The resource path of a request that may be unread, unscoped or wrong; "" where it has none. */
export const resourcePathOrEmpty = (method: MethodFact, request: JsonObject): string => {
  const value = scopeValue(method, request);
  return typeof value === "string" && isUid(value) ? value : "";
};

/**
 * The uid at which the capabilities are needed, read from the request and never from a row, so that the decision can
 * tell nothing of what exists. Undefined for unscoped and open operations.
 * Throws INVALID_ARGUMENT where it is no uid: that is form, not existence.
 */
export const resourcePathOf = ({ method, request }: Call): string | undefined => {
  if (!method.scope) return undefined;
  const value = scopeValue(method, request);
  const [first = "", ...inner] = method.scope;
  // Beside a body fields have their proto names (field-behavior.ts).
  const field = inner.at(-1) ?? (method.http[0]?.body === "*" ? first : (method.input.byName.get(first)?.name ?? first));
  if (typeof value !== "string" || value === "") throw invalid([{ field, description: `${field} is required` }]);
  if (!isUid(value)) throw invalid([{ field, description: `${field} must be a uid: 40 hex characters, then "/" and 16 more for each level` }]);
  return value;
};

/**
 * The groups that a list's filter names, where the capabilities are needed at each (contract: groupFilter).
 * Throws INVALID_ARGUMENT where one is no uid.
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

/** For the log: what a request is about that has no resource path, as its filters say it; "" where they name no place. */
export const filteredPlaceOf = ({ request }: Call): string => {
  const filter = part(request, "uidp");
  const named = ["descendantsOf", "childrenOf", "ancestorsOf"].map((name) => text(filter, name)).find((uid) => uid !== "") ?? "";
  return isUid(named) ? named : "";
};

/** A request that may be carried out. */
export interface ValidRequest {
  /** Free of what only the server may set. */
  readonly request: JsonObject;
  /** Of an update: the fields that it changes. */
  readonly mask: Mask | undefined;
  /** Of a list: its sort. */
  readonly order: Order | undefined;
}

/**
 * The request as the verbs see it. Throws INVALID_ARGUMENT with as many violations as are shown: what could not be read, the
 * mask, field behaviour, patterns, paging. Of an update the fields of its mask are checked; its verb checks the result once more.
 */
export const validate = (call: Call): ValidRequest => {
  const { method, request } = call;
  const found = new FoundViolations();
  for (const { field, description } of call.problems) found.add(field, description);
  // A rehearsal that told whether a token or a code is good would be a way to try them without using them up, and without
  // what follows when one is used twice.
  if (call.validateOnly && method.credentials) found.add("validate_only", `${method.rpc} cannot be rehearsed`);
  // Of a body that could not be read at all, its fields say nothing more.
  if (found.list.some(({ field }) => field === "body")) throw invalid(found.list);
  found.nextStep();
  const resource = resourceField(method);
  let cleaned: JsonObject | undefined;
  let mask: Mask | undefined;
  if (resource?.message) {
    cleaned = withoutOutputOnly(resource.message, part(request, resource.json));
    // The uid of an update is in the resource and stays; everything else that only the server sets is dropped.
    const key = method.scope?.[0] === resource.json ? method.scope.at(-1) : undefined;
    const uid = key === undefined ? undefined : part(request, resource.json)[key];
    if (key !== undefined && uid !== undefined) cleaned[key] = uid;
    const [message, value] = [resource.message, cleaned];
    const read = method.input.byName.has("update_mask") ? readMask(message, text(request, "updateMask"), call.bodyPaths, value) : undefined;
    mask = read?.mask;
    // A nested path says nothing of the rest of its message: the verb checks that, merged with what is there.
    const only = mask && maskedFields({ ...mask, paths: mask.paths.filter(({ length }) => length === 1) });
    for (const { field, description } of read?.violations ?? []) found.add(field, description);
    // What version 1 alone knows of a resource is no field of version 2.
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
