// Names of attributes: the same whatever the case of their letters (RFC 7643, 2.1), and with the core schema's URN before them or around
// them (RFC 7644, 3.10). Pure.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { scimFault } from "./faults.ts";

/** The key under which an object has this name. Throws 400 tooMany for an object of too many (attack 199). */
export const keyNamed = (object: JsonObject, name: string): string | undefined => {
  const wanted = name.toLowerCase();
  const keys = Object.keys(object);
  if (keys.length > limits.scimNamesMax) throw scimFault("tooMany", `an object must have at most ${limits.scimNamesMax} names`);
  return keys.find((each) => each.toLowerCase() === wanted);
};

/** The value at this name. Throws as keyNamed does. */
export const valueNamed = (object: Json | undefined, name: string): Json | undefined => {
  const key = isObject(object) ? keyNamed(object, name) : undefined;
  return isObject(object) && key !== undefined ? object[key] : undefined;
};

const coreUrn = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group)(?::|$)/i;

/** The name of a core attribute without its schema's URN; "": the URN alone. */
export const withoutCoreUrn = (name: string): string => name.replace(coreUrn, "");

const coreEntry = ([key, value]: readonly [string, Json]): (readonly [string, Json])[] => {
  const name = withoutCoreUrn(key);
  if (name !== "" || key === "") return [[name, value]];
  if (isObject(value)) return Object.entries(value);
  if (value === null) return [];
  throw scimFault("invalidValue", `${key} must be an object`);
};

/**
 * What a client has sent with the core attributes under their own names: kept under a URN, `active: false` would be shown and not done,
 * and a password be kept (attack 220). Throws 400 invalidValue where a name is given twice.
 */
export const withCoreNames = (sent: JsonObject): JsonObject => {
  const entries = Object.entries(sent).flatMap(coreEntry);
  const names = new Set<string>();
  for (const [name] of entries) {
    if (names.has(name.toLowerCase())) throw scimFault("invalidValue", `${name} is given twice`);
    names.add(name.toLowerCase());
  }
  return Object.fromEntries(entries);
};
