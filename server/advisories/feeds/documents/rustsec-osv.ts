// Converts a RustSec record to an OSV record with the same ID and verdicts (base/versions), like RustSec's OSV export. Throws
// UnsaidError with the reason if OSV cannot express it. Pure.

import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { rustsecAffectedEvents } from "#base/versions/cargo-requirement.ts";

export class UnsaidError extends Error {}

/** RustSec has dates only, in either TOML form. */
const dayStart = (day: string): string => {
  const [date] = /^\d{4}-\d{2}-\d{2}/.exec(day) ?? [];
  const ms = Date.parse(`${date ?? ""}T00:00:00Z`);
  if (Number.isNaN(ms)) throw new UnsaidError("its date is invalid");
  return timestamp(ms);
};

const severityOf = (vector: string): JsonObject[] => {
  const [, major] = /^CVSS:([34])\.\d\//.exec(vector) ?? [];
  return major === undefined ? [] : [{ type: `CVSS_V${major}`, score: vector }];
};

const hasNoMembers = (value: Json): boolean => isObject(value) && Object.keys(value).length === 0;

const present = (members: { readonly [key: string]: Json | undefined }): JsonObject => {
  const kept: JsonObject = {};
  for (const [key, value] of Object.entries(members)) {
    if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0) || hasNoMembers(value)) continue;
    kept[key] = value;
  }
  return kept;
};

export const rustsecOsvRecord = (document: JsonObject): JsonObject => {
  const advisory = part(document, "advisory");
  // In the oldest files, these are members of the advisory.
  const [patched, unaffected] =
    document.versions === undefined
      ? [texts(advisory, "patched_versions"), texts(advisory, "unaffected_versions")]
      : [texts(part(document, "versions"), "patched"), texts(part(document, "versions"), "unaffected")];
  if (text(advisory, "collection") === "rust") throw new UnsaidError("it is about Rust's own tools, which are not a crates.io package");
  const said = rustsecAffectedEvents(patched, unaffected);
  if ("reason" in said) throw new UnsaidError(said.reason);
  const events = said.events.map((event): JsonObject => ({ ...event }));
  const body = text(document, "body").trim();
  const [heading = ""] = /^#[ \t][^\n]*/.exec(body) ?? [];
  const name = text(advisory, "package");
  const published = dayStart(text(advisory, "date"));
  const withdrawn = text(advisory, "withdrawn") === "" ? undefined : dayStart(text(advisory, "withdrawn"));
  const affected = part(document, "affected");
  const functions = part(affected, "functions");
  const url = text(advisory, "url");
  const web = [...new Set([...(url === "" ? [] : [url]), ...texts(advisory, "references")])];
  return present({
    schema_version: "1.7.0",
    id: text(advisory, "id"),
    // RustSec has no modification time. Never later than in its OSV export.
    modified: withdrawn !== undefined && withdrawn > published ? withdrawn : published,
    published,
    withdrawn,
    aliases: texts(advisory, "aliases"),
    related: texts(advisory, "related"),
    summary: heading.slice(1).trim() || text(advisory, "title"),
    details: body.slice(heading.length).trim() || text(advisory, "description").trim(),
    severity: severityOf(text(advisory, "cvss")),
    affected: [
      present({
        package: { ecosystem: "crates.io", name, purl: `pkg:cargo/${encodeURIComponent(name)}` },
        ecosystem_specific: present({
          affects: present({ arch: texts(affected, "arch"), os: texts(affected, "os"), functions: Object.keys(functions) }),
          affected_functions: Object.keys(functions).length > 0 ? functions : undefined,
        }),
        database_specific: present({
          categories: texts(advisory, "categories"),
          cvss: text(advisory, "cvss"),
          informational: text(advisory, "informational"),
          keywords: texts(advisory, "keywords"),
        }),
        ranges: events.length > 0 ? [{ type: "SEMVER", events }] : undefined,
      }),
    ],
    references: web.map((address) => ({ type: "WEB", url: address })),
    database_specific: { license: text(advisory, "license") || "CC0-1.0" },
  });
};
