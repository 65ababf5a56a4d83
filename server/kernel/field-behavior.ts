// Validates messages as JSON values: field behavior (AIP-203), patterns and limits of the contract. Pure.
//
// Reports all violations (decisions: Errors) up to the maximum of a response. Resource fields have JSON names relative to the
// resource, other fields proto names (order_by, update_mask).

import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import type { FoundViolations } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { isUid } from "#base/uid.ts";

const patterns = new Map<string, RegExp>();

// The contract's own patterns are few, reviewed and linear. Patterns from users run in RE2 (base/pattern.ts).
const fullMatch = (pattern: string): RegExp => {
  let compiled = patterns.get(pattern);
  if (!compiled) {
    compiled = new RegExp(`^(?:${pattern})$`, "u");
    patterns.set(pattern, compiled);
  }
  return compiled;
};

/** proto3 does not distinguish absent fields from defaults; REQUIRED rejects both. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === "" || value === null || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0);

const isUnspecified = (field: FieldFact, value: Json | undefined): boolean =>
  isEmpty(value) || (field.kind === "enum" && field.shape === "one" && field.enum?.numbers.get(String(value)) === 0);

const shortName = (path: string): string => path.replace(/^.*\./, "");

const textViolation = (field: FieldFact, value: string, name: string): string | undefined => {
  if (field.uid && !isUid(value)) return `${name} must be a uid: 40 hex characters, then "/" and 16 more for each level`;
  if (field.pattern && !fullMatch(field.pattern).test(value)) return `${name} must match ${JSON.stringify(field.pattern)}`;
  // max_length of a list or map counts entries (annotations.proto). It limits code points, so count only texts with more UTF-16 units.
  if (field.shape === "one" && field.maxLength > 0 && value.length > field.maxLength && [...value].length > field.maxLength)
    return `${name} must have at most ${field.maxLength} characters`;
  return undefined;
};

const boundsViolation = (field: FieldFact, value: number, name: string, unit = ""): string | undefined => {
  const { minimum, maximum } = field;
  if ((minimum === 0 && maximum === 0) || (value >= minimum && (maximum === 0 || value <= maximum))) return undefined;
  return `${name} must be between ${minimum}${unit} and ${maximum}${unit}`;
};

export type Naming = "json" | "name";

const checkOne = (field: FieldFact, value: Json, at: string, naming: Naming, found: FoundViolations, optional: ReadonlySet<FieldFact>): void => {
  if (typeof value === "string" && (field.kind === "string" || field.kind === "bytes")) {
    // An empty field counts as absent. An empty entry is an entry, and must match the list's pattern.
    const isAbsent = value === "" && (field.shape === "one" || !field.pattern);
    const description = isAbsent ? undefined : textViolation(field, value, shortName(at));
    if (description) found.add(at, description);
  } else if (typeof value === "number" || field.kind === "duration" || field.kind === "double") {
    const description = boundsViolation(field, Number.parseFloat(String(value)), shortName(at), field.kind === "duration" ? "s" : "");
    if (description) found.add(at, description);
  } else if (isObject(value) && field.message) checkMessage(field.message, value, at, naming, found, undefined, optional);
};

const checkField = (field: FieldFact, value: Json | undefined, at: string, naming: Naming, found: FoundViolations, optional: ReadonlySet<FieldFact>): void => {
  const name = shortName(at);
  // false is a value, though gRPC cannot distinguish it from absence. In a batch entry, the batch's resource path is the default
  // (AIP-233).
  const needed = field.required && !optional.has(field) && field.kind !== "bool" && !(field.scope && at.includes("["));
  if (needed && isUnspecified(field, value)) {
    // requirement: Cases shown. The violation of a missing name shows its pattern.
    found.add(at, field.pattern ? `${name} must match ${JSON.stringify(field.pattern)}` : `${name} is required`);
    return;
  }
  if (value === undefined || value === null) return;
  if (field.shape === "one") {
    checkOne(field, value, at, naming, found, optional);
    return;
  }
  const keys = Array.isArray(value) ? undefined : isObject(value) ? Object.keys(value) : [];
  const count = Array.isArray(value) ? value.length : (keys?.length ?? 0);
  const most = field.maxLength > 0 ? field.maxLength : entriesMax;
  if (count > most) found.add(at, `${name} must have at most ${most} entries`);
  if (count < field.minItems && count > 0) found.add(at, `${name} must have at least ${field.minItems} entries`);
  for (let index = 0; index < count && !found.isFull; index++) {
    const key = keys?.[index];
    const entry = Array.isArray(value) ? value[index] : isObject(value) && key !== undefined ? value[key] : undefined;
    if (entry !== undefined) checkOne(field, entry, `${at}[${key === undefined ? index : JSON.stringify(key)}]`, naming, found, optional);
  }
};

/** Maximum entries of a list or map without a limit in the contract. */
const entriesMax = 1_000;

const none: ReadonlySet<FieldFact> = new Set();

/**
 * Collects the violations of one message.
 * @param only for an update: the changed top-level fields; others are not checked
 * @param optional REQUIRED fields that are optional for this caller
 */
export const checkMessage = (
  message: MessageFact,
  value: JsonObject,
  prefix: string,
  naming: Naming,
  found: FoundViolations,
  only?: ReadonlySet<string>,
  optional: ReadonlySet<FieldFact> = none,
): void => {
  for (const field of message.fields) {
    if (found.isFull) return;
    if (field.outputOnly || (only && !only.has(field.json))) continue;
    const name = field[naming];
    checkField(field, value[field.json], prefix ? `${prefix}.${name}` : name, naming, found, optional);
  }
  for (const members of message.requiredOneofs) {
    if (found.isFull || (only && !members.some(({ json }) => only.has(json)))) continue;
    if (members.some((member) => !isUnspecified(member, value[member.json]))) continue;
    const names = members.map((member) => member[naming]);
    const [first = "", ...others] = names.map((name) => (prefix ? `${prefix}.${name}` : name));
    found.add(first, `${names.join(" or ")} is required`, ...others);
  }
};

/** Returns the value without output-only fields (AIP-203: ignored, not an error). */
export const withoutOutputOnly = (message: MessageFact, value: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const field of message.fields) {
    const held = value[field.json];
    if (held === undefined || field.outputOnly) continue;
    if (!field.message || field.shape === "map") out[field.json] = held;
    else if (Array.isArray(held)) out[field.json] = held.map((entry) => (isObject(entry) && field.message ? withoutOutputOnly(field.message, entry) : entry));
    else out[field.json] = isObject(held) ? withoutOutputOnly(field.message, held) : held;
  }
  return out;
};

/** Returns the request field that holds the resource, by the contract's body; undefined if there is none. */
export const resourceField = (method: MethodFact): FieldFact | undefined => {
  const body = method.http[0]?.body;
  return body && body !== "*" ? method.input.byName.get(body) : undefined;
};

/** Collects violations of all fields outside the resource. */
export const checkRequest = (method: MethodFact, request: JsonObject, found: FoundViolations): void => {
  const resource = resourceField(method);
  const naming = method.http[0]?.body === "*" ? "json" : "name";
  for (const field of method.input.fields) {
    if (found.isFull) return;
    if (field !== resource) checkField(field, request[field.json], field[naming], naming, found, none);
  }
};
