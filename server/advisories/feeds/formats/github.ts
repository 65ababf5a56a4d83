// GitHub's REST API (GET /advisories). Each package becomes one advisory. A range without a patch only means affected.

import { timestamp } from "#base/time.ts";
import { normalizePythonName } from "#base/versions/python-name.ts";
import type { AdvisoryEventData, AdvisoryRecord, ReferenceRecord, SeverityRecord, VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";
import { distinctReferences, distinctSeverities, severityOfVector, timeMember } from "./reference.ts";

const artifactTypes: ReadonlyMap<string, string> = new Map([
  ["actions", "githubactions"],
  ["composer", "composer"],
  ["erlang", "hex"],
  ["go", "golang"],
  ["maven", "maven"],
  ["npm", "npm"],
  ["nuget", "nuget"],
  ["pip", "pypi"],
  ["pub", "pub"],
  ["rubygems", "gem"],
  ["rust", "cargo"],
  ["swift", "swift"],
]);

const githubSeverities = (document: Field): SeverityRecord[] =>
  [document.at("cvss_severities").at("cvss_v4"), document.at("cvss_severities").at("cvss_v3"), document.at("cvss")].flatMap((cvss) => {
    const vector = cvss.at("vector_string").name();
    return vector === "" ? [] : [severityOfVector(vector)];
  });

/** Texts, or objects in an advisory of a repository. */
const githubReference = (reference: Field): ReferenceRecord => ({
  type: "TYPE_WEB",
  url: typeof reference.value === "string" ? reference.url() : reference.object().at("url").url(),
});

const aliasesOf = (document: Field, id: string): string[] => {
  const cve = document.at("cve_id").missing ? [] : [document.at("cve_id").id()];
  const others = document
    .at("identifiers")
    .list()
    .map((identifier) => identifier.object().at("value").id());
  return [...new Set([...cve, ...others])].filter((alias) => alias !== id);
};

const githubVulnerability = (document: Field, id: string, aliases: readonly string[]): VulnerabilityRecord => ({
  kind: "vulnerability",
  id,
  aliases,
  state: "PUBLISHED",
  summary: document.at("summary").prose(),
  details: document.at("description").prose(),
  severities: distinctSeverities(githubSeverities(document)),
  references: distinctReferences(document.at("references").list().map(githubReference)),
  ...timeMember("publishTime", document.at("published_at")),
  ...timeMember("modifyTime", document.at("updated_at")),
  ...timeMember("withdrawnTime", document.at("withdrawn_at")),
});

/** Returns a text; an older form has an object. */
const patchedVersion = (vulnerability: Field): string => {
  const patched = vulnerability.at("first_patched_version");
  if (patched.missing) return "";
  return typeof patched.value === "string" ? patched.name() : patched.object().at("identifier").name();
};

const patchedData = (ranges: readonly Field[]): AdvisoryEventData => {
  const versions = [...new Set(ranges.map(patchedVersion).filter((version) => version !== ""))];
  const [only] = versions;
  // Not fixed while a range has no patch.
  if (only === undefined || ranges.some((range) => patchedVersion(range) === "")) return { truePositiveDetermination: {} };
  return versions.length === 1 ? { fixed: { fixedVersion: only } } : { patched: { patchedVersions: versions } };
};

const githubAdvisories = (document: Field, id: string, aliases: readonly string[], { author }: ReadOptions): AdvisoryRecord[] => {
  const rangesByPackage = new Map<string, Field[]>();
  for (const vulnerability of document.at("vulnerabilities").list()) {
    const named = vulnerability.object().at("package").object();
    const key = `${named.at("ecosystem").required().toLowerCase()} ${named.at("name").required()}`;
    rangesByPackage.set(key, [...(rangesByPackage.get(key) ?? []), vulnerability]);
  }
  const time = [document.at("published_at").time(), document.at("updated_at").time()].find((each) => each !== undefined);
  return [...rangesByPackage].map(([key, ranges]) => {
    const ecosystem = key.slice(0, key.indexOf(" "));
    const name = key.slice(ecosystem.length + 1);
    return {
      kind: "advisory",
      key: rangesByPackage.size > 1 ? `${id} ${key}` : id,
      advisoryId: id,
      author: author ?? "GitHub",
      artifactName: ecosystem === "pip" ? normalizePythonName(name) : name,
      artifactType: artifactTypes.get(ecosystem) ?? ecosystem,
      aliases,
      events: [{ time: timestamp(time ?? 0), data: patchedData(ranges) }],
      ...timeMember("withdrawnTime", document.at("withdrawn_at")),
    };
  });
};

export const github: Format = {
  name: "github",
  title: "an advisory of GitHub's API",
  kinds: ["vulnerabilities", "advisories"],
  matches: (document) => "ghsa_id" in document,
  origin: (document) => originOf(document.at("ghsa_id").id(), document.at("updated_at")),
  read: (document, options) => {
    const id = document.at("ghsa_id").id();
    const aliases = aliasesOf(document, id);
    // An error in either refuses the document.
    const vulnerability = githubVulnerability(document, id, aliases);
    const advisories = githubAdvisories(document, id, aliases, options);
    return options.kind === "vulnerabilities" ? [vulnerability] : advisories;
  },
};
