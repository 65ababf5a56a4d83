// Compares documents regardless of key order, since a PUT with reordered keys changes nothing. Pure.

import { isObject, type Json } from "#base/json.ts";

const inOrder = (_: string, value: Json): Json =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;

export const isSameJson = (one: Json, other: Json): boolean => JSON.stringify(one, inOrder) === JSON.stringify(other, inOrder);
