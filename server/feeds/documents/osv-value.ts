// Returns stored documents as OSV records, unchanged or converted from another format. Pure.

import type { JsonObject } from "#base/json.ts";
import { githubOsvRecord } from "./github-osv.ts";
import { rustsecOsvRecord } from "./rustsec-osv.ts";

/** Converters by format. Each throws UnsaidError if OSV cannot express the document. */
const makers: Readonly<Record<string, (document: JsonObject) => JsonObject>> = {
  rustsec: rustsecOsvRecord,
  github: githubOsvRecord,
};

/** Formats available as OSV, in order of preference: original OSV records first. */
export const osvForms: readonly string[] = ["osv", ...Object.keys(makers)];

/** Converts a document in one of osvForms; throws UnsaidError if OSV cannot express it. */
export const osvValueOf = (form: string, document: JsonObject): JsonObject => makers[form]?.(document) ?? document;
