// Version 1 as a second shape of version 2 (docs/decisions/0035-version-1-is-a-view.md): the translation of messages, by the links of
// their fields. Pure.

import type { Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { capabilityByName, capabilityBySymbol } from "./capabilities.ts";
import type { EnumFact, FieldFact, MessageFact, MethodFact, ViewedMethodFact } from "./facts.ts";
import { type Link, linksOf, linksOfMethod } from "./links.ts";
import type { Reading } from "./read.ts";

const nothing: readonly Link[] = [];

const leafOf = ({ field, path }: Link): FieldFact => path.at(-1) ?? field;

const unknownHere = "has no value that is known here";

/** One value of version 1 as version 2 has it; undefined and a problem where it has none such. */
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
    // One of several that a filter names, and nothing here has: it finds nothing.
    return found ?? (leaf.shape === "list" ? undefined : refuse(unknownHere));
  }
  if (own) return own.numbers.get(String(value)) === 0 ? "" : (own.written.get(String(value)) ?? refuse(unknownHere));
  return leaf.kind === "int32" ? Number(value) : String(value);
};

/** The value that stands for a text or a value of version 2. */
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
    // Lists of version 1 are long, and no place of an entry is written down that nobody asks for.
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

/** Puts the value where the path leads. Where it leads through a list, each entry goes into an entry of that list. */
const put = (object: JsonObject, path: readonly FieldFact[], value: Json): boolean => {
  const [first, ...rest] = path;
  if (!first) return false;
  if (rest.length === 0) {
    const held = object[first.json];
    // What another field has put into the message stays, unless both say it.
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

/** A message of version 1 as version 2 has it. What it has not is added to `problems`, by the names of version 1. */
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
    // An empty field is an absent one.
    if (read === "") continue;
    // One of the values that the other takes several of.
    const wanted = leafOf(link).shape === "list" && link.field.shape === "one" ? [read] : read;
    if (!put(into, link.path, wanted))
      problems.push({ field: name, description: `cannot be given together with ${link.path.map((field) => field.name).join(".")}` });
  }
  return into;
};

/** A message of version 2 in the shape of version 1. */
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

/** An answer of version 2 in the shape of version 1. */
export const replyInView = (method: ViewedMethodFact, reply: JsonObject): JsonObject => messageOutward(linksOfMethod(method).reply, reply);

/** A message of version 2 as this message of version 1. */
export const messageInView = (message: MessageFact, other: MessageFact, value: JsonObject): JsonObject => messageOutward(linksOf(message, other), value);

/** A request of version 2 in the shape of version 1, as far as that has its fields. */
export const requestInView = (method: ViewedMethodFact, request: JsonObject): JsonObject => messageOutward(linksOfMethod(method).request, request);

/**
 * What a PUT changes: all that version 1 knows of the resource, so that fields which it does not know stay as they are. What a
 * full replacement must not change is changed where it is said. What a PATCH changes: what it says.
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

/** What version 2 requires of a request, and version 1 does not. */
export const optionalInView = (method: ViewedMethodFact): ReadonlySet<FieldFact> => {
  const found = optionalFieldsByMethod.get(method.name);
  if (found) return found;
  const within = (links: readonly Link[]): FieldFact[] => links.flatMap((link) => [...(link.optional ? [leafOf(link)] : []), ...within(link.inner ?? nothing)]);
  const fields = new Set(within(linksOfMethod(method).request));
  optionalFieldsByMethod.set(method.name, fields);
  return fields;
};

/** A request of version 1 as the operation of version 2 takes it. */
export const readingInward = (method: ViewedMethodFact, reading: Reading): Reading => {
  const problems = [...reading.problems];
  const request = messageInward(linksOfMethod(method).request, reading.request, "", problems);
  const { of, requestIn } = method.view;
  if (requestIn && of.input.byName.has("update_mask")) request.updateMask = maskOf(method, reading);
  // A body over REST is there where it is empty, too.
  const body = of.http[0]?.body ?? "";
  if (body !== "" && body !== "*") request[body] ??= {};
  return { request, problems, bodyPaths: undefined };
};

/** How violations of version 2 name a field, and how those of version 1 do. Inside a resource by JSON names, beside it by proto names. */
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
      // A list whose entries hold what those of version 1 are.
      const list = other.findIndex(({ shape }) => shape === "list");
      const ofList = spelled(method.view.of, other.slice(0, list + 1));
      if (list >= 0 && !names.has(ofList)) names.set(ofList, spelled(method, own));
      visit(inner ?? nothing, own, other);
    }
  };
  visit(linksOfMethod(method).request, [], []);
  return names;
};

/** "[3]", or a map's key. */
const placeInList = /\[[^[\]]*\]/g;

/** The last name of a field's path, without places in lists. */
const lastName = (field: string): string => field.replace(placeInList, "").replace(/^.*\./, "");

/** A violation by the names of version 1. What is no field of its messages stays. */
export const violationInView = (method: ViewedMethodFact, { field, description }: Violation): Violation => {
  const names = violationNamesOf(method);
  const plain = field.replace(placeInList, "");
  const own = names.get(plain);
  if (own === undefined) return { field, description };
  const places = field.match(placeInList) ?? [];
  const shown = method.input.byName.get(own.split(".")[0] ?? "")?.shape === "list" ? own.replace(/^[^.]+/, (first) => `${first}${places[0] ?? ""}`) : own;
  // Words about a field begin with its name.
  const before = field.replace(/^.*\./, "");
  const isNamed = description.startsWith(`${before} `) || description.startsWith(`${lastName(field)} `);
  return { field: shown, description: isNamed ? `${lastName(own)}${description.slice(description.indexOf(" "))}` : description };
};
