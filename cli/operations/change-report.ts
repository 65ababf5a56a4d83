// The changes of an update: one line per changed field with old and new value.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { onOneLine } from "../output/escape.ts";

const leaves = (value: Json, path: string): [string, string][] =>
  isObject(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, held]) => leaves(held, path === "" ? key : `${path}.${key}`))
    : [[path, JSON.stringify(value)]];

/** Fields that every write changes. */
const always = new Set(["updateTime"]);

export const changeReport = (before: JsonObject, after: JsonObject): string => {
  const [then, now] = [new Map(leaves(before, "")), new Map(leaves(after, ""))];
  const lines = [...new Set([...then.keys(), ...now.keys()])]
    .filter((path) => !always.has(path) && then.get(path) !== now.get(path))
    .flatMap((path) => [...(then.has(path) ? [`- ${path}: ${then.get(path)}`] : []), ...(now.has(path) ? [`+ ${path}: ${now.get(path)}`] : [])]);
  return lines.map((line) => `${onOneLine(line)}\n`).join("");
};
