// The values that travel between modules: JSON as the contract promises it (camelCase keys, RFC 3339 timestamps with three
// decimals, 64-bit integers as strings, enums by name).

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** True for a JSON object: neither null nor a list. */
export const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** The text at `key`, or "" where there is none: proto3's own reading of an absent string. */
export const text = (object: JsonObject, key: string): string => {
  const value = object[key];
  return typeof value === "string" ? value : "";
};

/** The object at `key`, or an empty one. */
export const part = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isObject(value) ? value : {};
};

/** The texts of the list at `key`, or none. */
export const texts = (object: JsonObject, key: string): string[] => {
  const value = object[key];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
};

/** The objects of a list; none for anything else. */
export const objectList = (value: JsonObject, key: string): JsonObject[] => {
  const found = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

/** Why a text is no JSON, on one line: JSON.parse quotes lines of it. */
export const jsonProblem = (thrown: unknown): string => (thrown instanceof Error ? thrown.message.replaceAll(/\s+/g, " ") : "it cannot be read");
