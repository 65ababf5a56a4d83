// Attribute names: case-insensitive (RFC 7643, 2.1), optionally prefixed by or nested in the core schema's URN (RFC 7644, 3.10). Pure.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { scimFault } from "./faults.ts";

/** Returns the object's key of this name. Throws 400 tooMany for an object with too many keys (attack 199). */
export const keyNamed = (object: JsonObject, name: string): string | undefined => {
  const wanted = name.toLowerCase();
  const keys = Object.keys(object);
  if (keys.length > limits.scimNamesMax) throw scimFault("tooMany", `an object must have at most ${limits.scimNamesMax} names`);
  return keys.find((each) => each.toLowerCase() === wanted);
};

export const valueNamed = (object: Json | undefined, name: string): Json | undefined => {
  const key = isObject(object) ? keyNamed(object, name) : undefined;
  return isObject(object) && key !== undefined ? object[key] : undefined;
};

const coreUrn = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group)(?::|$)/i;

/** Removes the core schema's URN; returns "" for the URN alone. */
export const withoutCoreUrn = (name: string): string => name.replace(coreUrn, "");

const coreEntry = ([key, value]: readonly [string, Json]): (readonly [string, Json])[] => {
  const name = withoutCoreUrn(key);
  if (name !== "" || key === "") return [[name, value]];
  if (isObject(value)) return Object.entries(value);
  if (value === null) return [];
  throw scimFault("invalidValue", `${key} must be an object`);
};

/**
 * Moves core attributes out of their URN: otherwise `active: false` would be stored without effect, and a password would be kept
 * (attack 220). Throws 400 invalidValue for a duplicate name.
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
