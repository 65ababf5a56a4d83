// Returns stored documents as OSV records, unchanged or converted from another format. Pure.

import type { JsonObject } from "#base/json.ts";
import { githubOsvRecord } from "./github-osv.ts";
import { rustsecOsvRecord } from "./rustsec-osv.ts";

/** Each throws UnsaidError if OSV cannot express the document. */
const makers: Readonly<Record<string, (document: JsonObject) => JsonObject>> = {
  rustsec: rustsecOsvRecord,
  github: githubOsvRecord,
};

/** Formats available as OSV, the preferred one first. */
export const osvForms: readonly string[] = ["osv", ...Object.keys(makers)];

export const osvValueOf = (form: string, document: JsonObject): JsonObject => makers[form]?.(document) ?? document;
