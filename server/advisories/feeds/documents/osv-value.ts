// What a stored document is as a record of OSV: itself, or made of another form. Pure.

import type { JsonObject } from "#base/json.ts";
import { githubOsvRecord } from "./github-osv.ts";
import { rustsecOsvRecord } from "./rustsec-osv.ts";

/** Forms of which OSV records are made; each throws UnsaidError where OSV cannot say it. */
const makers: Readonly<Record<string, (document: JsonObject) => JsonObject>> = {
  rustsec: rustsecOsvRecord,
  github: githubOsvRecord,
};

/** Forms that OSV has, the better first: as they came in, then made of another one. */
export const osvForms: readonly string[] = ["osv", ...Object.keys(makers)];

/** Throws UnsaidError where OSV cannot say what the document does. Only of these forms. */
export const osvValueOf = (form: string, document: JsonObject): JsonObject => makers[form]?.(document) ?? document;
