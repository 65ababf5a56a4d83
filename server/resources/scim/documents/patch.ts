// PATCH (RFC 7644, 3.5.2), also as Entra ID and Okta really send it: `op` in any case, operations without a path whose values have
// dotted names, a path with a filter that nothing fits yet, a removal that names its values in `value`. Pure: works on a copy.

import { isDeepStrictEqual } from "node:util";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { requireSmall } from "./document.ts";
import { scimFault } from "./faults.ts";
import { type Filter, fits, keyNamed, readFilter, valueNamed } from "./filter.ts";
import { enterpriseSchema } from "./schemas.ts";

type Op = "add" | "replace" | "remove";

export interface Operation {
  readonly op: Op;
  /** Undefined: the value's names are paths. */
  readonly path: string | undefined;
  readonly value: Json | undefined;
}

/** What a path names. */
interface Target {
  /** The URN of an extension; "": a core attribute. */
  readonly extension: string;
  /** "": the whole extension. */
  readonly attribute: string;
  /** Which of the attribute's values; undefined: the attribute itself. */
  readonly filter: Filter | undefined;
  /** Inside the attribute; "": all of it. */
  readonly inner: string;
}

const pathLengthMax = 1_000;
const isOp = (word: string): word is Op => ["add", "replace", "remove"].includes(word);

/** The operations of a PatchOp. Throws 400 invalidSyntax or invalidValue. */
export const readOperations = (document: JsonObject): Operation[] => {
  const operations = valueNamed(document, "Operations");
  if (!Array.isArray(operations) || operations.length === 0) throw scimFault("invalidValue", "Operations must be a list of operations");
  if (operations.length > limits.scimOperationsMax) throw scimFault("tooMany", `Operations must be at most ${limits.scimOperationsMax}`);
  return operations.map((each, index) => {
    const op = String(valueNamed(each, "op") ?? "").toLowerCase();
    const path = valueNamed(each, "path") ?? undefined;
    if (!isOp(op)) throw scimFault("invalidValue", `Operations[${index}].op must be add, replace or remove`);
    if (path !== undefined && typeof path !== "string") throw scimFault("invalidPath", `Operations[${index}].path must be a text`);
    const value = valueNamed(each, "value");
    if (op !== "remove" && value === undefined) throw scimFault("invalidValue", `Operations[${index}].value is missing`);
    if (op === "remove" && !path) throw scimFault("noTarget", `Operations[${index}] removes nothing: it has no path`);
    return { op, path: path === "" ? undefined : path, value };
  });
};

const corePrefix = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
const pathForm = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

/** Splits the URN of an extension from what stands behind it. */
const splitExtension = (path: string, document: JsonObject): readonly [extension: string, rest: string] => {
  if (!/^urn:/i.test(path)) return ["", path];
  const known = [enterpriseSchema, ...Object.keys(document).filter((key) => /^urn:/i.test(key))];
  const lower = path.toLowerCase();
  for (const urn of known) {
    if (lower === urn.toLowerCase()) return [urn, ""];
    if (lower.startsWith(`${urn.toLowerCase()}:`)) return [urn, path.slice(urn.length + 1)];
  }
  // Of one that nobody has named yet the last part is an attribute.
  const colon = path.lastIndexOf(":");
  return colon === path.length - 1 ? ["", path] : [path.slice(0, colon), path.slice(colon + 1)];
};

const readPath = (path: string, document: JsonObject): Target => {
  const invalidPath = scimFault("invalidPath", `the path ${JSON.stringify(path.slice(0, 100))} cannot be read`);
  if (path.length > pathLengthMax) throw invalidPath;
  const [extension, rest] = splitExtension(path.trim().replace(corePrefix, ""), document);
  if (extension !== "" && rest === "") return { extension, attribute: "", filter: undefined, inner: "" };
  const [, attribute, filter, inner] = pathForm.exec(rest) ?? [];
  if (attribute === undefined || [attribute, inner].includes("__proto__")) throw invalidPath;
  return { extension, attribute, filter: filter === undefined ? undefined : readFilter(filter), inner: inner ?? "" };
};

/** The key under which an object has this name; a new one as it is written. */
const keyOf = (object: JsonObject, name: string): string => keyNamed(object, name) ?? name;

/** Null is the same as nothing (RFC 7643, 2.5). */
const put = (object: JsonObject, name: string, value: Json | undefined): void => {
  const key = keyOf(object, name);
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) delete object[key];
  else object[key] = value;
};

const merge = (object: JsonObject, more: JsonObject): void => {
  for (const [name, value] of Object.entries(more)) if (name !== "__proto__") put(object, name, value);
};

/** RFC 7644, 3.5.2: with a new primary value the others are none. */
const withPrimary = (list: readonly Json[], added: readonly Json[]): Json[] => {
  if (!added.some((each) => valueNamed(each, "primary") === true)) return [...list, ...added];
  for (const each of list) if (isObject(each) && valueNamed(each, "primary") === true) put(each, "primary", false);
  return [...list, ...added];
};

/** What the values have in common that a filter asks for, where it says so alone: of `type eq "work"` {type: "work"}. */
const impliedBy = (filter: Filter): JsonObject | undefined => {
  if (filter.kind === "compare") return filter.operator === "eq" && filter.value !== null ? { [filter.attribute]: filter.value } : undefined;
  if (filter.kind !== "and") return undefined;
  const parts = filter.filters.map(impliedBy);
  return parts.some((each) => each === undefined) ? undefined : Object.assign({}, ...parts);
};

/** What is done to a list is done to each of its values, and for a list that is given, to each of them with each: they are few (attack 199). */
const requireFew = (name: string, list: readonly Json[]): void => {
  if (list.length > limits.scimValuesMax) throw scimFault("tooMany", `${name.slice(0, 100)} may have at most ${limits.scimValuesMax} values`);
};

const listAt = (object: JsonObject, name: string): Json[] => {
  const held = valueNamed(object, name);
  const list = Array.isArray(held) ? held : held === undefined ? [] : [held];
  requireFew(name, list);
  return list;
};

/** Changes those of an attribute's values that a filter fits. */
const applyToValues = (object: JsonObject, { attribute, inner }: Target, filter: Filter, op: Op, given: Json | undefined): void => {
  // Some clients send the only value in a list.
  const value = inner === "" && Array.isArray(given) && given.length === 1 ? given[0] : given;
  const list = listAt(object, attribute);
  const chosen = list.filter((each) => fits(filter, each));
  if (op === "remove") {
    if (inner === "") {
      put(
        object,
        attribute,
        list.filter((each) => !chosen.includes(each)),
      );
      return;
    }
    for (const each of chosen) if (isObject(each)) put(each, inner, undefined);
    return;
  }
  if (chosen.length === 0) {
    const implied = impliedBy(filter);
    if (!implied) throw scimFault("noTarget", `nothing fits the filter of ${attribute}`);
    const made: JsonObject = implied;
    if (inner !== "") put(made, inner, value);
    else if (isObject(value)) merge(made, value);
    put(object, attribute, withPrimary(list, [made]));
    return;
  }
  for (const each of chosen) {
    if (!isObject(each)) continue;
    if (inner !== "") put(each, inner, value);
    else if (isObject(value)) merge(each, value);
    else throw scimFault("invalidValue", `the value of ${attribute} must be an object`);
  }
};

/** Entra ID removes members so: what is in the list of `value`, by their own `value`. */
const withoutListed = (list: readonly Json[], listed: readonly Json[]): Json[] => {
  const gone = listed.map((each) => JSON.stringify(valueNamed(each, "value") ?? each));
  return list.filter((each) => !gone.includes(JSON.stringify(valueNamed(each, "value") ?? each)));
};

const applyToAttribute = (object: JsonObject, name: string, op: Op, value: Json | undefined, isMulti: boolean): void => {
  const held = valueNamed(object, name);
  for (const each of [held, value]) if (Array.isArray(each)) requireFew(name, each);
  if (op === "remove") put(object, name, Array.isArray(held) && Array.isArray(value) ? withoutListed(held, value) : undefined);
  else if (isMulti || Array.isArray(held)) {
    const given = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    const list = Array.isArray(held) ? held : [];
    const added = given.filter((each) => !list.some((known) => isDeepStrictEqual(known, each)));
    put(object, name, op === "add" ? withPrimary(list, added) : given);
  } else if (isObject(held) && isObject(value)) merge(held, value);
  else put(object, name, value);
};

/** The object at this name, made where there is none. */
const objectAt = (object: JsonObject, name: string): JsonObject => {
  const held = valueNamed(object, name);
  if (isObject(held)) return held;
  const made: JsonObject = {};
  object[keyOf(object, name)] = made;
  return made;
};

const applyTo = (document: JsonObject, target: Target, op: Op, value: Json | undefined, isMulti: (name: string) => boolean): void => {
  const { extension, attribute, filter, inner } = target;
  if (extension !== "" && attribute === "") {
    applyToAttribute(document, extension, op, value, false);
    return;
  }
  const object = extension === "" ? document : objectAt(document, extension);
  if (filter) applyToValues(object, target, filter, op, value);
  else if (inner === "") applyToAttribute(object, attribute, op, value, extension === "" && isMulti(attribute));
  else {
    const held = valueNamed(object, attribute);
    if (Array.isArray(held)) {
      requireFew(attribute, held);
      for (const each of held) if (isObject(each)) put(each, inner, op === "remove" ? undefined : value);
    } else if (op !== "remove") applyToAttribute(objectAt(object, attribute), inner, op, value, false);
    else if (isObject(held)) put(held, inner, undefined);
  }
  if (extension !== "" && Object.keys(object).length === 0) put(document, extension, undefined);
};

/**
 * What a path says of a group's members: all, or the one whose id its filter names. Undefined for a path of something else.
 * Throws 400 invalidFilter where the filter asks for something else than an id.
 */
export const memberFilterOf = (path: string): { readonly id: string | undefined } | undefined => {
  const { extension, attribute, filter, inner } = readPath(path, {});
  if (extension !== "" || attribute.toLowerCase() !== "members" || (inner !== "" && inner.toLowerCase() !== "value")) return undefined;
  if (!filter) return { id: undefined };
  if (filter.kind === "compare" && filter.operator === "eq" && filter.attribute.toLowerCase() === "value" && filter.value !== null)
    return { id: String(filter.value) };
  throw scimFault("invalidFilter", 'members are chosen by their ids: members[value eq "…"]');
};

/** Attributes that are the server's: a path that names one is refused, and inside a value they are passed over, as Okta sends them. */
const readOnlyNames: ReadonlySet<string> = new Set(["id", "meta", "schemas", "groups"]);

/**
 * The document after these operations. `isMulti`: which core attributes hold lists, by name.
 * Throws 400 invalidPath, invalidFilter, invalidValue, mutability or noTarget.
 */
export const patched = (document: JsonObject, operations: readonly Operation[], isMulti: (name: string) => boolean): JsonObject => {
  requireSmall("what a PATCH says of attributes", operations);
  const copy = structuredClone(document);
  for (const { op, path, value } of operations) {
    if (path !== undefined) {
      const target = readPath(path, copy);
      if (target.extension === "" && readOnlyNames.has(target.attribute.toLowerCase())) throw scimFault("mutability", `${target.attribute} is read-only`);
      applyTo(copy, target, op, value, isMulti);
    } else if (isObject(value)) {
      for (const [name, each] of Object.entries(value)) {
        if (!readOnlyNames.has(name.toLowerCase())) applyTo(copy, readPath(name, copy), op, each, isMulti);
      }
    } else throw scimFault("invalidValue", "an operation without a path has an object as its value");
  }
  return copy;
};
