// Converts messages between version 1 and version 2 by the links of their fields (docs/decisions/0035-version-1-and-public-api-compatibility.md).

import type { Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { capabilityByName, capabilityBySymbol } from "./capabilities.ts";
import type { EnumFact, FieldFact, MessageFact, MethodFact, ViewedMethodFact } from "./facts.ts";
import { type Link, linksOf, linksOfMethod } from "./links.ts";
import type { Reading } from "./read.ts";

const nothing: readonly Link[] = [];

const leafOf = ({ field, path }: Link): FieldFact => path.at(-1) ?? field;

const unknownHere = "has no value that is known here";

/** Converts a value of version 1; adds a problem and returns undefined if it has no equivalent. */
const valueInward = (link: Link, value: Json, at: string, problems: Violation[]): Json | undefined => {
  const leaf = leafOf(link);
  if (link.inner && isObject(value)) return messageInward(link.inner, value, at, problems);
  if (leaf.kind === link.field.kind && leaf.kind !== "enum") return value;
  const refuse = (description: string): undefined => {
    problems.push({ field: at, description });
    return undefined;
  };
  const own = link.field.enum;
  if (leaf.kind === "enum") {
    if (!own) return capabilityByName(String(value))?.symbol ?? refuse("is not a known capability");
    const found = own.written.get(String(value)) ?? leaf.enum?.names.get(own.numbers.get(String(value)) ?? -1);
    // An unknown value among several filter values matches nothing.
    return found ?? (leaf.shape === "list" ? undefined : refuse(unknownHere));
  }
  if (own) return own.numbers.get(String(value)) === 0 ? "" : (own.written.get(String(value)) ?? refuse(unknownHere));
  return leaf.kind === "int32" ? Number(value) : String(value);
};

const valueWritten = (own: EnumFact, written: string): string | undefined => {
  for (const [name, each] of own.written) if (each === written) return name;
  return undefined;
};

const valueOutward = (link: Link, value: Json): Json | undefined => {
  const leaf = leafOf(link);
  if (link.inner) return isObject(value) ? messageOutward(link.inner, value) : undefined;
  if (leaf.kind === link.field.kind && leaf.kind !== "enum") return value;
  const own = link.field.enum;
  if (own && own.written.size > 0) return valueWritten(own, String(value));
  if (leaf.kind !== "enum" && own) return undefined;
  if (leaf.kind === "enum") {
    if (link.field.kind === "string") return capabilityBySymbol(String(value))?.name;
    return own?.names.get(leaf.enum?.numbers.get(String(value)) ?? -1);
  }
  return link.field.kind === "int32" ? Number(value) : String(value);
};

const eachOf = (field: FieldFact, value: Json, one: (entry: Json, at: () => string) => Json | undefined): Json | undefined => {
  if (field.shape === "list") {
    if (!Array.isArray(value)) return undefined;
    // Version 1 lists are long, so the positions of entries are formatted on demand.
    const entries: Json[] = [];
    for (let index = 0; index < value.length; index++) {
      const read = one(value[index] ?? null, () => `[${index}]`);
      if (read !== undefined && read !== null) entries.push(read);
    }
    return entries;
  }
  if (field.shape === "one" || !isObject(value)) return one(value, () => "");
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, entry]) => {
      const read = one(entry, () => `[${JSON.stringify(key)}]`);
      return read === undefined ? [] : [[key, read]];
    }),
  );
};

/** Sets the value at the path. Through a list, each entry is set in the entry at its index. */
const put = (object: JsonObject, path: readonly FieldFact[], value: Json): boolean => {
  const [first, ...rest] = path;
  if (!first) return false;
  if (rest.length === 0) {
    const held = object[first.json];
    // Merges with values from other fields; a conflict is an error.
    const isShared = isObject(held) && isObject(value) && first.shape === "one";
    if (held !== undefined && (!isShared || Object.keys(value).some((key) => held[key] !== undefined))) return false;
    object[first.json] = isShared ? { ...held, ...value } : value;
    return true;
  }
  if (first.shape === "list" && Array.isArray(value)) {
    if (object[first.json] !== undefined) return false;
    object[first.json] = value.map((entry) => {
      const inner: JsonObject = {};
      put(inner, rest, entry);
      return inner;
    });
    return true;
  }
  const held = object[first.json];
  const inner = isObject(held) ? { ...held } : {};
  object[first.json] = inner;
  return put(inner, rest, value);
};

const at = (object: JsonObject, path: readonly FieldFact[]): Json | undefined => {
  let held: Json | undefined = object;
  for (const [index, { json, shape }] of path.entries()) {
    held = isObject(held) ? held[json] : undefined;
    const rest = path.slice(index + 1);
    if (shape === "list" && rest.length > 0) return Array.isArray(held) ? held.flatMap((entry) => (isObject(entry) ? (at(entry, rest) ?? []) : [])) : undefined;
  }
  return held;
};

/** Converts a version 1 message. Values without an equivalent are added to `problems`, by version 1 names. */
const messageInward = (links: readonly Link[], value: JsonObject, prefix: string, problems: Violation[], into: JsonObject = {}): JsonObject => {
  for (const link of links) {
    const held = value[link.field.json];
    if (link.negated) {
      if (held !== true) put(into, link.path, true);
      continue;
    }
    if (held === undefined) continue;
    const name = prefix ? `${prefix}.${link.field.json}` : link.field.json;
    if (link.path.length === 0) {
      if (link.inner && isObject(held)) messageInward(link.inner, held, name, problems, into);
      continue;
    }
    if (link.atRoot && held === "/") {
      put(into, link.atRoot, true);
      continue;
    }
    const read = eachOf(link.field, held, (entry, index) => valueInward(link, entry, name + index(), problems));
    if (read === undefined) continue;
    if (Array.isArray(read) && read.length === 0 && Array.isArray(held) && held.length > 0 && problems.length === 0)
      problems.push({ field: name, description: unknownHere });
    if (read === "") continue;
    // A single value linked to a list.
    const wanted = leafOf(link).shape === "list" && link.field.shape === "one" ? [read] : read;
    if (!put(into, link.path, wanted))
      problems.push({ field: name, description: `cannot be given together with ${link.path.map((field) => field.name).join(".")}` });
  }
  return into;
};

const messageOutward = (links: readonly Link[], value: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const link of links) {
    if (link.sameAs !== undefined) {
      const held = value[link.sameAs];
      if (held !== undefined && held !== null) out[link.field.json] = held;
      continue;
    }
    if (link.path.length === 0) {
      const inner = messageOutward(link.inner ?? nothing, value);
      if (Object.keys(inner).length > 0) out[link.field.json] = inner;
      continue;
    }
    const found = at(value, link.path);
    if (link.negated) {
      if (found !== true) out[link.field.json] = true;
      continue;
    }
    if (found === undefined || found === null) continue;
    const single = link.field.shape === "one" && leafOf(link).shape === "list" && Array.isArray(found) ? found[0] : found;
    const shown = single === undefined ? undefined : eachOf(link.field, single, (entry) => valueOutward(link, entry));
    if (shown !== undefined) out[link.field.json] = shown;
  }
  return out;
};

/** Converts a response of version 2 to version 1. */
export const replyInView = (method: ViewedMethodFact, reply: JsonObject): JsonObject => messageOutward(linksOfMethod(method).reply, reply);

/** Converts a version 2 message to this message of version 1. */
export const messageInView = (message: MessageFact, other: MessageFact, value: JsonObject): JsonObject => messageOutward(linksOf(message, other), value);

/** Converts a request of version 2 to version 1, as far as it has the fields. */
export const requestInView = (method: ViewedMethodFact, request: JsonObject): JsonObject => messageOutward(linksOfMethod(method).request, request);

/**
 * Returns the mask of an update. PUT changes all fields that version 1 knows, except those that a full replacement must not
 * change unless given. PATCH changes the given ones.
 */
const maskOf = (method: ViewedMethodFact, reading: Reading): string => {
  const { requestIn } = method.view;
  const bodyLinks = linksOfMethod(method).request.filter(({ path }) => path[0] === requestIn);
  const paths = new Set<string>();
  const visit = (links: readonly Link[], value: JsonObject, sent: readonly string[] | undefined, skipped: number): void => {
    for (const { field, path, inner, optional } of links) {
      const own = path.slice(skipped);
      const leaf = own.at(-1);
      const below = sent?.flatMap((name) => (name === field.json ? [] : name.startsWith(`${field.json}.`) ? [name.slice(field.json.length + 1)] : []));
      const held = value[field.json];
      if (!leaf) {
        visit(inner ?? nothing, isObject(held) ? held : {}, below, 0);
        continue;
      }
      if (leaf.outputOnly || leaf.name === "uid") continue;
      const isSaid = held !== undefined || sent?.some((name) => name === field.json || name.startsWith(`${field.json}.`));
      if (isSaid || (method.http[0]?.verb === "PUT" && !leaf.namedOnly && !optional)) paths.add(own.map(({ name }) => name).join("."));
    }
  };
  visit(bodyLinks, reading.request, reading.bodyPaths, 1);
  return [...paths].join(",");
};

const optionalFieldsByMethod = new Map<string, ReadonlySet<FieldFact>>();

/** Fields required in version 2 and optional in version 1. */
export const optionalInView = (method: ViewedMethodFact): ReadonlySet<FieldFact> => {
  const found = optionalFieldsByMethod.get(method.name);
  if (found) return found;
  const within = (links: readonly Link[]): FieldFact[] => links.flatMap((link) => [...(link.optional ? [leafOf(link)] : []), ...within(link.inner ?? nothing)]);
  const fields = new Set(within(linksOfMethod(method).request));
  optionalFieldsByMethod.set(method.name, fields);
  return fields;
};

/** Converts a request of version 1 for the operation of version 2. */
export const readingInward = (method: ViewedMethodFact, reading: Reading): Reading => {
  const problems = [...reading.problems];
  const request = messageInward(linksOfMethod(method).request, reading.request, "", problems);
  const { of, requestIn } = method.view;
  if (requestIn && of.input.byName.has("update_mask")) request.updateMask = maskOf(method, reading);
  // Over REST, an empty body is still present.
  const body = of.http[0]?.body ?? "";
  if (body !== "" && body !== "*") request[body] ??= {};
  return { request, problems, bodyPaths: undefined };
};

/** Returns the name of a field in violations: JSON names inside the resource, proto names outside. */
const spelled = (method: MethodFact, path: readonly FieldFact[]): string => {
  const body = method.http[0]?.body ?? "";
  const inBody = body === "*" || path[0]?.json === body;
  const named = inBody && body !== "*" && path.length > 1 && path[0]?.shape !== "list" ? path.slice(1) : path;
  return named.map((field) => (inBody ? field.json : field.name)).join(".");
};

const violationNamesOf = (method: ViewedMethodFact): ReadonlyMap<string, string> => {
  const names = new Map<string, string>();
  const visit = (links: readonly Link[], before: readonly FieldFact[], beforeOther: readonly FieldFact[]): void => {
    for (const { field, path, inner } of links) {
      const [own, other] = [
        [...before, field],
        [...beforeOther, ...path],
      ];
      const name = spelled(method.view.of, other);
      if (path.length > 0 && !names.has(name)) names.set(name, spelled(method, own));
      // A list with linked entries.
      const list = other.findIndex(({ shape }) => shape === "list");
      const ofList = spelled(method.view.of, other.slice(0, list + 1));
      if (list >= 0 && !names.has(ofList)) names.set(ofList, spelled(method, own));
      visit(inner ?? nothing, own, other);
    }
  };
  visit(linksOfMethod(method).request, [], []);
  return names;
};

/** "[3]", or the key of a map. */
const placeInList = /\[[^[\]]*\]/g;

const lastName = (field: string): string => field.replace(placeInList, "").replace(/^.*\./, "");

/** Converts a violation to version 1 names. Names of other fields stay unchanged. */
export const violationInView = (method: ViewedMethodFact, { field, description }: Violation): Violation => {
  const names = violationNamesOf(method);
  const plain = field.replace(placeInList, "");
  const own = names.get(plain);
  if (own === undefined) return { field, description };
  const places = field.match(placeInList) ?? [];
  const shown = method.input.byName.get(own.split(".")[0] ?? "")?.shape === "list" ? own.replace(/^[^.]+/, (first) => `${first}${places[0] ?? ""}`) : own;
  // Descriptions start with the field's name.
  const before = field.replace(/^.*\./, "");
  const isNamed = description.startsWith(`${before} `) || description.startsWith(`${lastName(field)} `);
  return { field: shown, description: isNamed ? `${lastName(own)}${description.slice(description.indexOf(" "))}` : description };
};
