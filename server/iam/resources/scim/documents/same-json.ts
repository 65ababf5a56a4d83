// Whether two documents say the same: a PUT may have its names in another order, and changes nothing then. Pure.

import { isObject, type Json } from "#base/json.ts";

const inOrder = (_: string, value: Json): Json =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;

/** True where both have the same values at the same names. */
export const isSameJson = (one: Json, other: Json): boolean => JSON.stringify(one, inOrder) === JSON.stringify(other, inOrder);
