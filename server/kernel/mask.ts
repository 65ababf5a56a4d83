// Which fields an update changes (AIP-134; requirement: Update convention). Pure.
//
//   updateMask given    exactly these; the rest of the body is ignored
//   "*"                 full replacement of the public message; an additive field (1000 and above) changes only if the body names
//                       it, because clients that do not know it send "*" too (decisions: Identity of the product)
//   none, REST          the keys of the JSON body, including empty values
//   none, gRPC          the fields that are set: proto3 cannot distinguish an empty field from an absent one

import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { FoundViolations, type Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";

/** One path in JSON names: ["claimMatch", "subject"]. */
export type MaskPath = readonly string[];

export interface Mask {
  readonly paths: readonly MaskPath[];
  /** "*": every writable field of the public message is set to the body's value, or cleared. */
  readonly replacesAll: boolean;
}

const resolvePath = (message: MessageFact, text: string): { path: string[]; fields: FieldFact[] } | undefined => {
  const path: string[] = [];
  const fields: FieldFact[] = [];
  let within: MessageFact | undefined = message;
  for (const name of text.split(".")) {
    const field: FieldFact | undefined = within?.byName.get(name);
    if (!field) return undefined;
    path.push(field.json);
    fields.push(field);
    within = field.shape === "one" ? field.message : undefined;
  }
  return { path, fields };
};

const replacedFields = (message: MessageFact, named: readonly string[]): FieldFact[] => {
  const namedFields = new Set(named.map((path) => path.split(".", 1)[0]));
  return message.fields.filter((field) => !field.outputOnly && (!field.additive || namedFields.has(field.json)));
};

/**
 * Reads the mask of an update. A mask with an empty name is a violation, because treating it as no mask would change everything in
 * the body.
 * @param text the request's update_mask; "" if absent
 * @param implied REST: the body's paths; undefined over gRPC
 */
export const readMask = (
  message: MessageFact,
  text: string,
  implied: readonly string[] | undefined,
  body: JsonObject,
): { mask: Mask; violations: readonly Violation[] } => {
  const violations = new FoundViolations();
  const namedByBody = implied ?? Object.keys(body);
  const names = text === "" ? [] : text.split(",").map((name) => name.trim());
  if (names.includes("")) violations.add("update_mask", "must be field paths separated by commas, none of them empty");
  if (names.includes("*")) {
    if (names.length > 1) violations.add("update_mask", '"*" must be the only path');
    return { mask: { paths: replacedFields(message, namedByBody).map((field) => [field.json]), replacesAll: true }, violations: violations.list };
  }
  if (names.length > 0) {
    const paths: MaskPath[] = [];
    for (const name of names) {
      if (violations.isFull) break;
      if (name === "") continue;
      const found = resolvePath(message, name);
      if (!found) violations.add("update_mask", `${JSON.stringify(name)} is not a field of ${message.short}`);
      else if (found.fields.some((field) => field.outputOnly)) {
        violations.add("update_mask", `${JSON.stringify(name)} is set by the server and cannot be changed`);
      } else paths.push(found.path);
    }
    return { mask: { paths, replacesAll: false }, violations: violations.list };
  }
  const paths = namedByBody.flatMap((name) => {
    const found = resolvePath(message, name);
    return found && !found.fields.some((field) => field.outputOnly) ? [found.path] : [];
  });
  return { mask: { paths, replacesAll: false }, violations: [] };
};

const clearOneofRivals = (message: MessageFact, value: JsonObject, chosen: FieldFact): void => {
  if (chosen.oneof === undefined || chosen.presence) return;
  for (const field of message.fields) if (field !== chosen && field.oneof === chosen.oneof) delete value[field.json];
};

/** A replaced message keeps its output-only fields (AIP-203), which the caller cannot send, and additive fields that it does not name. */
const withKept = (message: MessageFact, held: Json | undefined, given: Json): Json => {
  if (!isObject(held) || !isObject(given)) return given;
  const out: JsonObject = { ...given };
  for (const field of message.fields) {
    const [before, after] = [held[field.json], given[field.json]];
    if (before === undefined) continue;
    if (field.outputOnly || (field.additive && after === undefined)) out[field.json] = before;
    else if (after !== undefined && field.message && field.shape === "one") out[field.json] = withKept(field.message, before, after);
  }
  return out;
};

const setPath = (message: MessageFact, target: JsonObject, path: MaskPath, source: JsonObject): void => {
  const [name, ...rest] = path;
  const field = name === undefined ? undefined : message.byName.get(name);
  if (!field) return;
  const given: Json | undefined = source[field.json];
  if (rest.length > 0 && field.message) {
    const held = target[field.json];
    const inner: JsonObject = isObject(held) ? { ...held } : {};
    setPath(field.message, inner, rest, isObject(given) ? given : {});
    clearOneofRivals(message, target, field);
    target[field.json] = inner;
  } else if (given === undefined) delete target[field.json];
  else {
    clearOneofRivals(message, target, field);
    target[field.json] = field.message && field.shape === "one" ? withKept(field.message, target[field.json], given) : given;
  }
};

/** Returns `before` with the masked fields of `body`; modifies neither. */
export const applyMask = (message: MessageFact, before: JsonObject, body: JsonObject, mask: Mask): JsonObject => {
  const after: JsonObject = { ...before };
  // Clear first, then set: an absent oneof member must not clear the one that replaces it.
  const [absent, present] = [false, true].map((isPresent) => mask.paths.filter(([name]) => (name !== undefined && body[name] !== undefined) === isPresent));
  for (const path of [...(absent ?? []), ...(present ?? [])]) setPath(message, after, path, body);
  return after;
};

export const maskedFields = (mask: Mask): ReadonlySet<string> => new Set(mask.paths.flatMap(([name]) => (name === undefined ? [] : [name])));

const isUnset = (field: FieldFact, value: Json | undefined): boolean =>
  value === undefined || (field.kind === "enum" && field.enum?.numbers.get(String(value)) === 0);

/** Returns `after` with every omitted IMMUTABLE field restored from `before`: omitting it changes nothing. */
export const withImmutables = (message: MessageFact, before: JsonObject, after: JsonObject): JsonObject => {
  const out: JsonObject = { ...after };
  for (const field of message.fields) {
    const [held, wanted] = [before[field.json], after[field.json]];
    if (held === undefined) continue;
    if (field.immutable && isUnset(field, wanted)) out[field.json] = held;
    else if (field.message && field.shape === "one" && isObject(held) && isObject(wanted)) out[field.json] = withImmutables(field.message, held, wanted);
  }
  return out;
};

/** Returns violations for changed IMMUTABLE fields; repeating the value is not a change (AIP-203). */
export const immutableChanges = (message: MessageFact, before: JsonObject, after: JsonObject, prefix = ""): Violation[] =>
  message.fields.flatMap((field) => {
    const [held, wanted] = [before[field.json], after[field.json]];
    const at = prefix ? `${prefix}.${field.json}` : field.json;
    if (field.immutable && held !== undefined && JSON.stringify(held) !== JSON.stringify(wanted)) {
      return [{ field: at, description: `${field.json} cannot be changed` }];
    }
    return field.message && field.shape === "one" && isObject(held) && isObject(wanted) ? immutableChanges(field.message, held, wanted, at) : [];
  });

/** Returns violations for changes that the contract prevents: while a flag of the resource is true, or by a full replacement. */
export const keptChanges = (message: MessageFact, before: JsonObject, after: JsonObject, replacesAll: boolean): Violation[] =>
  message.fields.flatMap((field) => {
    const [held, wanted] = [before[field.json], after[field.json]];
    if (held === undefined || JSON.stringify(held) === JSON.stringify(wanted)) return [];
    const { json, fixedWhile } = field;
    if (fixedWhile !== "" && before[fixedWhile] === true && after[fixedWhile] === true) {
      return [{ field: json, description: `${json} cannot be changed while ${fixedWhile} is true` }];
    }
    return field.namedOnly && replacesAll ? [{ field: json, description: `${json} is changed only by an update that names it; "*" does not` }] : [];
  });
