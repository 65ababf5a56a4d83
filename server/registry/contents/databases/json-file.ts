// JSON in a layer.

import type { Json } from "#base/json.ts";
import { DatabaseError } from "../problem.ts";

/** Throws DatabaseError. */
export const readJsonFile = (bytes: Buffer): Json => {
  const source = bytes.toString("utf8");
  try {
    return JSON.parse(source.startsWith("\ufeff") ? source.slice(1) : source) as Json;
  } catch {
    throw new DatabaseError("is not JSON");
  }
};
