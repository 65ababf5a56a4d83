// PATCH (RFC 7644, 3.5.2), including the variants of Entra ID and Okta: `op` in any case, operations without a path but with dotted
// names, a filter without a match yet, a removal that lists values in `value`. Pure: works on a copy.

import { isDeepStrictEqual } from "node:util";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { inForm, readKnown, requireSmall } from "./document.ts";
import { scimFault } from "./faults.ts";
import { type Filter, fits, readFilter } from "./filter.ts";
import { keyNamed, valueNamed, withCoreNames, withoutCoreUrn } from "./names.ts";
import { enterpriseSchema, innerNames, type Known } from "./schemas.ts";

type Op = "add" | "replace" | "remove";

export interface Operation {
  readonly op: Op;
  /** Undefined: the names in the value are paths. */
  readonly path: string | undefined;
  readonly value: Json | undefined;
}

interface Target {
  /** The URN of an extension; "" for a core attribute. */
  readonly extension: string;
  /** "" for the whole extension. */
  readonly attribute: string;
  /** Selects values of the attribute; undefined: the attribute itself. */
  readonly filter: Filter | undefined;
  /** Sub-attribute; "" for the whole attribute. */
  readonly inner: string;
}

const pathLengthMax = 1_000;
const isOp = (word: string): word is Op => ["add", "replace", "remove"].includes(word);

/** Reads the operations of a PatchOp; throws 400 invalidSyntax or invalidValue. */
export const readOperations = (document: JsonObject): Operation[] => {
  const operations = valueNamed(document, "Operations");
  if (!Array.isArray(operations) || operations.length === 0) throw scimFault("invalidValue", "Operations must be a list of operations");
  if (operations.length > limits.scimOperationsMax) throw scimFault("tooMany", `Operations must be at most ${limits.scimOperationsMax}`);
  return operations.map((each, index) => {
    const sentOp = valueNamed(each, "op");
    const op = typeof sentOp === "string" ? sentOp.toLowerCase() : "";
    const sentPath = valueNamed(each, "path") ?? "";
    if (!isOp(op)) throw scimFault("invalidValue", `Operations[${index}].op must be add, replace or remove`);
    if (typeof sentPath !== "string") throw scimFault("invalidPath", `Operations[${index}].path must be a text`);
    const path = withoutCoreUrn(sentPath.trim());
    const value = valueNamed(each, "value");
    if (op !== "remove" && value === undefined) throw scimFault("invalidValue", `Operations[${index}].value is missing`);
    if (path !== "") return { op, path, value };
    if (op === "remove") throw scimFault("noTarget", `Operations[${index}] requires a path to remove`);
    return { op, path: undefined, value: isObject(value) ? withCoreNames(value) : value };
  });
};

const pathForm = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

/** Splits an extension's URN from the rest. `isName`: the path names an object in a value, as extensions are. */
const splitExtension = (path: string, document: JsonObject, isName: boolean): readonly [extension: string, rest: string] => {
  if (!/^urn:/i.test(path)) return ["", path];
  const known = [enterpriseSchema, ...Object.keys(document).filter((key) => /^urn:/i.test(key))];
  const lower = path.toLowerCase();
  for (const urn of known) {
    if (lower === urn.toLowerCase()) return [urn, ""];
    if (lower.startsWith(`${urn.toLowerCase()}:`)) return [urn, path.slice(urn.length + 1)];
  }
  // For an unknown extension, the last part is the attribute.
  if (isName) return [path, ""];
  const [named = ""] = path.split("[", 1);
  const colon = named.lastIndexOf(":");
  return colon === path.length - 1 ? ["", path] : [path.slice(0, colon), path.slice(colon + 1)];
};

const readPath = (path: string, document: JsonObject, isName = false): Target => {
  const invalidPath = scimFault("invalidPath", `the path ${JSON.stringify(path.slice(0, 100))} cannot be read`);
  if (path.length > pathLengthMax) throw invalidPath;
  const [extension, rest] = splitExtension(path, document, isName);
  if (extension !== "" && rest === "") return { extension, attribute: "", filter: undefined, inner: "" };
  const [, attribute, filter, inner] = pathForm.exec(rest) ?? [];
  if (attribute === undefined || [attribute, inner].includes("__proto__")) throw invalidPath;
  return { extension, attribute, filter: filter === undefined ? undefined : readFilter(filter), inner: inner ?? "" };
};

const keyOf = (object: JsonObject, name: string): string => keyNamed(object, name) ?? name;

/** Null equals absent (RFC 7643, 2.5). */
const put = (object: JsonObject, name: string, value: Json | undefined): void => {
  const key = keyOf(object, name);
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) delete object[key];
  else object[key] = value;
};

const merge = (object: JsonObject, more: JsonObject): void => {
  for (const [name, value] of Object.entries(more)) if (name !== "__proto__") put(object, name, value);
};

const isPrimary = (value: Json): boolean => String(valueNamed(value, "primary")).toLowerCase() === "true";

/** RFC 7644, 3.5.2: a newly written primary value makes the others non-primary. */
const makeOnlyPrimary = (list: readonly Json[], written: readonly Json[]): void => {
  const primary = written.find(isPrimary);
  if (primary === undefined) return;
  for (const each of list) if (each !== primary && isObject(each) && isPrimary(each)) put(each, "primary", false);
};

/** Returns the attributes that a filter implies for a new value: {type: "work"} for `type eq "work"`; undefined if ambiguous. */
const impliedBy = (filter: Filter): JsonObject | undefined => {
  if (filter.kind === "compare") return filter.operator === "eq" && filter.value !== null ? { [filter.attribute]: filter.value } : undefined;
  if (filter.kind !== "and") return undefined;
  const parts = filter.filters.map(impliedBy);
  return parts.some((each) => each === undefined) ? undefined : Object.assign({}, ...parts);
};

/** Bounds lists, because an operation may compare each value with each (attack 199). */
const requireFew = (name: string, list: readonly Json[]): void => {
  if (list.length > limits.scimValuesMax) throw scimFault("tooMany", `${name.slice(0, 100)} must have at most ${limits.scimValuesMax} values`);
};

const listAt = (object: JsonObject, name: string): Json[] => {
  const held = valueNamed(object, name);
  const list = Array.isArray(held) ? held : held === undefined ? [] : [held];
  requireFew(name, list);
  return list;
};

/** Returns a single value; some clients send it in a list, or as a plain text. */
const elementOf = (given: Json | undefined): Json | undefined => {
  const only = Array.isArray(given) && given.length === 1 ? given[0] : given;
  return typeof only === "string" ? { value: only } : only;
};

const applyToValues = (object: JsonObject, { attribute, inner }: Target, filter: Filter, op: Op, given: Json | undefined): void => {
  const value = inner === "" ? elementOf(given) : given;
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
  const made = chosen.length === 0 ? impliedBy(filter) : undefined;
  if (chosen.length === 0 && !made) throw scimFault("noTarget", `the filter of ${attribute} matches nothing`);
  const written = made ? [made] : chosen.filter(isObject);
  for (const each of written) {
    if (inner !== "") put(each, inner, value);
    else if (isObject(value)) merge(each, value);
    else throw scimFault("invalidValue", `the value of ${attribute} must be an object`);
  }
  const all = made ? [...list, made] : list;
  requireFew(attribute, all);
  makeOnlyPrimary(all, written);
  if (made) put(object, attribute, all);
};

/** Entra ID removes members by a list in `value`, compared by their own `value`. */
const withoutListed = (list: readonly Json[], listed: readonly Json[]): Json[] => {
  const gone = listed.map((each) => JSON.stringify(valueNamed(each, "value") ?? each));
  return list.filter((each) => !gone.includes(JSON.stringify(valueNamed(each, "value") ?? each)));
};

const removeAttribute = (object: JsonObject, name: string, value: Json | undefined): void => {
  const held = valueNamed(object, name);
  if (!Array.isArray(held) || value === undefined || value === null || value === "") return put(object, name, undefined);
  const listed = Array.isArray(value) ? value : [value];
  for (const each of [held, listed]) requireFew(name, each);
  put(object, name, withoutListed(held, listed));
};

const applyToAttribute = (object: JsonObject, name: string, op: Op, sent: Json | undefined, known: Known | undefined): void => {
  if (op === "remove") return removeAttribute(object, name, sent);
  const held = valueNamed(object, name);
  for (const each of [held, sent]) if (Array.isArray(each)) requireFew(name, each);
  const value = sent === undefined || known === undefined ? sent : known.multi ? readKnown(known, sent, name) : inForm(known, sent);
  if (known?.multi || Array.isArray(held)) {
    const given = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    const list = Array.isArray(held) ? held : [];
    const added = given.filter((each) => !list.some((other) => isDeepStrictEqual(other, each)));
    const wanted = op === "add" ? [...list, ...added] : given;
    requireFew(name, wanted);
    makeOnlyPrimary(wanted, op === "add" ? added : given);
    put(object, name, wanted);
  } else if (isObject(held) && isObject(value)) merge(held, value);
  else put(object, name, value);
};

const objectAt = (object: JsonObject, name: string): JsonObject => {
  const held = valueNamed(object, name);
  if (isObject(held)) return held;
  const made: JsonObject = {};
  object[keyOf(object, name)] = made;
  return made;
};

const knownInside = (known: Known | undefined, name: string): Known | undefined => known && innerNames(known).get(name.toLowerCase());

const applyTo = (document: JsonObject, target: Target, op: Op, value: Json | undefined, attributes: ReadonlyMap<string, Known>): void => {
  const { extension, attribute, filter, inner } = target;
  if (extension !== "" && attribute === "") {
    applyToExtension(document, extension, op, value, attributes);
    return;
  }
  const object = extension === "" ? document : objectAt(document, extension);
  const known = extension === "" ? attributes.get(attribute.toLowerCase()) : knownInside(attributes.get(extension.toLowerCase()), attribute);
  const knownInner = knownInside(known, inner);
  const innerValue = value === undefined || knownInner === undefined ? value : inForm(knownInner, value);
  if (filter && known && !known.asSent && known.kind !== "complex") throw scimFault("invalidPath", `${known.name} has no values to choose from`);
  if (filter) applyToValues(object, target, filter, op, inner === "" ? value : innerValue);
  else if (inner === "") applyToAttribute(object, attribute, op, value, known);
  else {
    const held = valueNamed(object, attribute);
    if (Array.isArray(held)) {
      requireFew(attribute, held);
      for (const each of held) if (isObject(each)) put(each, inner, op === "remove" ? undefined : innerValue);
    } else if (op !== "remove") applyToAttribute(objectAt(object, attribute), inner, op, value, knownInner);
    else if (isObject(held)) put(held, inner, undefined);
  }
  if (extension !== "" && Object.keys(object).length === 0) put(document, extension, undefined);
};

const applyToExtension = (document: JsonObject, extension: string, op: Op, value: Json | undefined, attributes: ReadonlyMap<string, Known>): void => {
  if (op === "remove" || !isObject(value)) return applyToAttribute(document, extension, op, value, attributes.get(extension.toLowerCase()));
  for (const [attribute, each] of Object.entries(value)) {
    if (attribute !== "__proto__") applyTo(document, { extension, attribute, filter: undefined, inner: "" }, op, each, attributes);
  }
};

/**
 * Returns the members that a path selects: all, or one by the ID in the filter; undefined for other paths. Throws 400 invalidFilter
 * for other filters.
 */
export const memberFilterOf = (path: string): { readonly id: string | undefined } | undefined => {
  const { extension, attribute, filter, inner } = readPath(path, {});
  if (extension !== "" || attribute.toLowerCase() !== "members" || (inner !== "" && inner.toLowerCase() !== "value")) return undefined;
  if (!filter) return { id: undefined };
  if (filter.kind === "compare" && filter.operator === "eq" && filter.attribute.toLowerCase() === "value" && filter.value !== null)
    return { id: String(filter.value) };
  throw scimFault("invalidFilter", 'members are chosen by their ids: members[value eq "…"]');
};

/** Read-only attributes: a path to one is rejected; inside a value they are ignored, because Okta sends them. */
const readOnlyNames: ReadonlySet<string> = new Set(["id", "meta", "schemas", "groups"]);

/**
 * Returns the document after these operations. `attributes`: known ones by name. Throws 400 invalidPath, invalidFilter,
 * invalidValue, mutability or noTarget.
 */
export const patched = (document: JsonObject, operations: readonly Operation[], attributes: ReadonlyMap<string, Known>): JsonObject => {
  requireSmall("what a PATCH says of attributes", operations);
  const copy = structuredClone(document);
  for (const { op, path, value } of operations) {
    if (path !== undefined) {
      const target = readPath(path, copy);
      if (target.extension === "" && readOnlyNames.has(target.attribute.toLowerCase())) throw scimFault("mutability", `${target.attribute} is read-only`);
      applyTo(copy, target, op, value, attributes);
    } else if (isObject(value)) {
      for (const [name, each] of Object.entries(value)) {
        if (!readOnlyNames.has(name.toLowerCase())) applyTo(copy, readPath(name, copy, isObject(each)), op, each, attributes);
      }
    } else throw scimFault("invalidValue", "an operation without a path has an object as its value");
  }
  return copy;
};
