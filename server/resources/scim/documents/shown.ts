// Which attributes are shown (RFC 7644, 3.9): those that are asked for, or all but those that are not wanted. Pure.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";

export interface Shown {
  /** Undefined: all. Lower case. */
  readonly only: readonly string[] | undefined;
  readonly excluded: readonly string[];
}

/** RFC 7643, 2.4 and 3.1: what is returned always. `meta` says which version it is: clients need it behind every write. */
const always: ReadonlySet<string> = new Set(["schemas", "id", "meta"]);

const corePrefix = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/;

const namesOf = (list: string): string[] =>
  list
    .split(",")
    .map((each) => each.trim().toLowerCase().replace(corePrefix, ""))
    .filter((each) => each !== "");

/** What a request asks to be shown. */
export const shownOf = (request: JsonObject): Shown => {
  const only = namesOf(text(request, "attributes"));
  return { only: only.length > 0 ? only : undefined, excluded: namesOf(text(request, "excludedAttributes")) };
};

/** True where the attribute, or something in it, may be shown. */
export const isShown = (name: string, { only, excluded }: Shown): boolean => {
  const lower = name.toLowerCase();
  if (excluded.includes(lower)) return false;
  return !only || only.some((each) => each === lower || isInside(each, lower));
};

/** What stands behind an attribute's name: of "name.familyName", and of "urn:…:User:department", what is inside. */
const isInside = (path: string, name: string): boolean => path.startsWith(`${name}.`) || path.startsWith(`${name}:`);

const innerOf = (paths: readonly string[], name: string): string[] => paths.flatMap((path) => (isInside(path, name) ? [path.slice(name.length + 1)] : []));

const withInner = (value: Json, only: readonly string[], excluded: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((each) => withInner(each, only, excluded));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => {
    const lower = key.toLowerCase();
    return !excluded.includes(lower) && (only.length === 0 || only.includes(lower));
  });
  return Object.fromEntries(kept);
};

/** The document with what is shown of it. */
export const withShown = (document: JsonObject, shown: Shown): JsonObject =>
  Object.fromEntries(
    Object.entries(document).flatMap(([key, value]): [string, Json][] => {
      const lower = key.toLowerCase();
      if (always.has(lower)) return [[key, value]];
      if (!isShown(lower, shown)) return [];
      const whole = !shown.only || shown.only.includes(lower);
      return [[key, withInner(value, whole ? [] : innerOf(shown.only ?? [], lower), innerOf(shown.excluded, lower))]];
    }),
  );
