// Converts an advisory of GitHub's API to an OSV record with the same ID and verdicts (base/versions/github-range.ts). Throws
// UnsaidError with the reason if OSV cannot express it. Pure.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { compareVersions } from "#base/versions/ecosystem.ts";
import { githubAffected } from "#base/versions/github-range.ts";
import { UnsaidError } from "./rustsec-osv.ts";

/** OSV ecosystems by GitHub's. Those without a version order are missing. */
const ecosystems: ReadonlyMap<string, string> = new Map([
  ["composer", "Packagist"],
  ["erlang", "Hex"],
  ["go", "Go"],
  ["maven", "Maven"],
  ["npm", "npm"],
  ["nuget", "NuGet"],
  ["pip", "PyPI"],
  ["pub", "Pub"],
  ["rubygems", "RubyGems"],
  ["rust", "crates.io"],
  ["swift", "SwiftURL"],
]);

const creditTypes = new Set([
  "analyst",
  "coordinator",
  "finder",
  "other",
  "remediation_developer",
  "remediation_reviewer",
  "remediation_verifier",
  "reporter",
  "sponsor",
  "tool",
]);

const timeOf = (document: JsonObject, key: string): string | undefined => {
  const ms = Date.parse(text(document, key));
  return Number.isNaN(ms) ? undefined : timestamp(ms).replace(".000Z", "Z");
};

/** A text, or an object in an older form. */
const patchedIn = (vulnerability: JsonObject): string => {
  const patched = vulnerability.first_patched_version;
  return isObject(patched) ? text(patched, "identifier") : typeof patched === "string" ? patched : "";
};

const compare = (ecosystem: string, one: string, other: string): number => {
  const order = compareVersions(ecosystem, one, other);
  if (order === undefined) throw new UnsaidError(`${JSON.stringify(one)} or ${JSON.stringify(other)} is not a version in ${ecosystem}`);
  return order;
};

const affectedEntry = (vulnerability: JsonObject): JsonObject => {
  const [word, name] = [text(part(vulnerability, "package"), "ecosystem"), text(part(vulnerability, "package"), "name")];
  const ecosystem = ecosystems.get(word.toLowerCase());
  if (ecosystem === undefined) throw new UnsaidError(`versions of ${word} are in no order`);
  const said = githubAffected(ecosystem, text(vulnerability, "vulnerable_version_range"), patchedIn(vulnerability));
  if ("reason" in said) throw new UnsaidError(said.reason);
  const of: JsonObject = { package: { ecosystem, name } };
  if ("versions" in said) {
    for (const version of said.versions) compare(ecosystem, version, version);
    return { ...of, versions: [...said.versions] };
  }
  // A range that ends before it starts would change its meaning.
  let last = "";
  for (const bound of said.events.flatMap((event): string[] => Object.values(event))) {
    if (bound === "0" && last === "") continue;
    if (last === "") compare(ecosystem, bound, bound);
    else if (compare(ecosystem, last, bound) > 0) throw new UnsaidError(`it ends at ${bound}, before it begins`);
    last = bound;
  }
  requirePatchedBehind(ecosystem, vulnerability);
  return { ...of, ranges: [{ type: "ECOSYSTEM", events: said.events.map((event): JsonObject => ({ ...event })) }] };
};

/** If the patch bounds the range, it must follow the last affected version, which would otherwise count as safe. */
const requirePatchedBehind = (ecosystem: string, vulnerability: JsonObject): void => {
  const patched = patchedIn(vulnerability);
  if (patched === "") return;
  for (const each of text(vulnerability, "vulnerable_version_range")
    .split(",")
    .map((comparison) => comparison.trim())) {
    const last = each.startsWith("<=") ? each.slice(2).trim() : each.startsWith("=") ? each.slice(1).trim() : "";
    if (last !== "" && compare(ecosystem, last, patched) >= 0) throw new UnsaidError(`${last} is affected, and patched is ${patched}`);
  }
};

const severitiesOf = (document: JsonObject): JsonObject[] =>
  ["cvss_v3", "cvss_v4"].flatMap((key) => {
    const vector =
      text(part(part(document, "cvss_severities"), key), "vector_string") || (key === "cvss_v3" ? text(part(document, "cvss"), "vector_string") : "");
    const [, major] = /^CVSS:([34])\.\d\//.exec(vector) ?? [];
    return major === undefined ? [] : [{ type: `CVSS_V${major}`, score: vector }];
  });

const addressesOf = (document: JsonObject): string[] => {
  const list: Json | undefined = document.references;
  return [...new Set((Array.isArray(list) ? list : []).map((each) => (isObject(each) ? text(each, "url") : String(each))))].filter((url) => URL.canParse(url));
};

export const githubOsvRecord = (document: JsonObject): JsonObject => {
  const id = text(document, "ghsa_id");
  const [modified, published, withdrawn] = ["updated_at", "published_at", "withdrawn_at"].map((key) => timeOf(document, key));
  if (modified === undefined) throw new UnsaidError("it has no modification time");
  const vulnerabilities = objectList(document, "vulnerabilities");
  if (vulnerabilities.length === 0) throw new UnsaidError("it names no package");
  const aliases = [text(document, "cve_id"), ...objectList(document, "identifiers").map((each) => text(each, "value"))];
  const [severity, references] = [severitiesOf(document), addressesOf(document)];
  const credits = objectList(document, "credits").flatMap((credit): JsonObject[] => {
    const [name, type] = [text(part(credit, "user"), "login"), text(credit, "type")];
    return name === "" ? [] : [{ name, ...(creditTypes.has(type) ? { type: type.toUpperCase() } : {}) }];
  });
  const cwes = objectList(document, "cwes").map((each) => text(each, "cwe_id"));
  const source = text(document, "html_url");
  return {
    schema_version: "1.7.0",
    id,
    modified,
    ...(published === undefined ? {} : { published }),
    ...(withdrawn === undefined ? {} : { withdrawn }),
    aliases: [...new Set(aliases)].filter((alias) => alias !== "" && alias !== id),
    ...(text(document, "summary") === "" ? {} : { summary: text(document, "summary") }),
    ...(text(document, "description") === "" ? {} : { details: text(document, "description") }),
    ...(severity.length > 0 ? { severity } : {}),
    affected: vulnerabilities.map(affectedEntry),
    references: references.map((url) => ({ type: "WEB", url })),
    ...(credits.length > 0 ? { credits } : {}),
    database_specific: {
      // The license requires attribution and a note of the conversion.
      source: source === "" ? `https://github.com/advisories/${id}` : source,
      converted_from: "GitHub's advisory API",
      ...(text(document, "severity") === "" ? {} : { severity: text(document, "severity").toUpperCase() }),
      ...(cwes.length > 0 ? { cwe_ids: cwes } : {}),
    },
  };
};
