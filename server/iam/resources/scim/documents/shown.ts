// Selects the attributes of a response (RFC 7644, 3.9): the requested ones, or all but excluded ones. Pure.

import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { scimFault } from "./faults.ts";
import { withoutCoreUrn } from "./names.ts";

export interface Shown {
  /** In lower case; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly excluded: readonly string[];
}

/** RFC 7643, 3 and 3.1: always returned. Headers have the version and location of writes too. */
const always: ReadonlySet<string> = new Set(["schemas", "id"]);

// Entra ID's reference requests `emails[type eq "work"]`: all values of the list are returned.
const namesOf = (list: string): string[] => {
  const names = list.replace(/\[[^[\]]*\]/g, "").split(",", limits.scimShownNamesMax + 1);
  if (names.length > limits.scimShownNamesMax) throw scimFault("invalidValue", `at most ${limits.scimShownNamesMax} attributes may be named`);
  return names.map((each) => withoutCoreUrn(each.trim()).toLowerCase()).filter((each) => each !== "");
};

/** Returns the requested selection; throws 400 invalidValue. */
export const shownOf = (request: JsonObject): Shown => {
  const only = namesOf(text(request, "attributes"));
  return { only: only.length > 0 ? only : undefined, excluded: namesOf(text(request, "excludedAttributes")) };
};

/** True if the attribute or a part of it is selected. */
export const isShown = (name: string, { only, excluded }: Shown): boolean => {
  const lower = name.toLowerCase();
  if (excluded.includes(lower)) return false;
  return !only || only.some((each) => each === lower || isInside(each, lower));
};

const isInside = (path: string, name: string): boolean => path.startsWith(`${name}.`) || path.startsWith(`${name}:`);

const innerOf = (paths: readonly string[], name: string): string[] => paths.flatMap((path) => (isInside(path, name) ? [path.slice(name.length + 1)] : []));

const withWanted = (object: JsonObject, only: readonly string[], excluded: readonly string[], kept: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(object).flatMap(([key, value]): [string, Json][] => {
      const lower = key.toLowerCase();
      if (kept.has(lower)) return [[key, value]];
      const isWhole = only.length === 0 || only.includes(lower);
      if (excluded.includes(lower) || !(isWhole || only.some((each) => isInside(each, lower)))) return [];
      const shown = withInner(value, isWhole ? [] : innerOf(only, lower), innerOf(excluded, lower));
      return shown === undefined ? [] : [[key, shown]];
    }),
  );

const nothing: ReadonlySet<string> = new Set();

const withInner = (value: Json, only: readonly string[], excluded: readonly string[]): Json | undefined => {
  if (only.length === 0 && excluded.length === 0) return value;
  if (Array.isArray(value)) {
    const list = value.flatMap((each) => withInner(each, only, excluded) ?? []);
    return list.length > 0 ? list : undefined;
  }
  if (!isObject(value)) return only.length > 0 ? undefined : value;
  const wanted = withWanted(value, only, excluded, nothing);
  return Object.keys(wanted).length > 0 ? wanted : undefined;
};

export const withShown = (document: JsonObject, { only, excluded }: Shown): JsonObject => withWanted(document, only ?? [], excluded, always);
