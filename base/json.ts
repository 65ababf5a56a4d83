// JSON values as the contract defines them: camelCase keys, RFC 3339 timestamps with three decimals, 64-bit integers as strings,
// enums by name.

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** Returns true for an object that is neither null nor an array. */
export const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the text at `key`, or "" (the proto3 default). */
export const text = (object: JsonObject, key: string): string => {
  const value = object[key];
  return typeof value === "string" ? value : "";
};

/** Returns the object at `key`, or an empty one. */
export const part = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isObject(value) ? value : {};
};

/** Returns the strings in the list at `key`. */
export const texts = (object: JsonObject, key: string): string[] => {
  const value = object[key];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
};

/** Returns the objects in the list at `key`. */
export const objectList = (value: JsonObject, key: string): JsonObject[] => {
  const found = value[key];
  return Array.isArray(found) ? found.filter(isObject) : [];
};

/** Returns why JSON.parse failed, on one line. */
export const jsonProblem = (thrown: unknown): string => (thrown instanceof Error ? thrown.message.replaceAll(/\s+/g, " ") : "it cannot be read");
