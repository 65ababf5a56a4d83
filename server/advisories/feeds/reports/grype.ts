// Reads Grype's JSON reports, since 0.7.

import { isObject, type JsonObject } from "#base/json.ts";
import { Field } from "../field.ts";
import { digestWithin, type Finding, type FixState, makePurl, type ReadReport, scoreText, severityNamed, uniteFindings, vectorVersion } from "./findings.ts";

/** A report without matches names its tool. */
export const isGrype = (document: JsonObject): boolean => {
  const { matches, descriptor } = document;
  if (!Array.isArray(matches)) return false;
  const [first] = matches;
  if (first === undefined) return isObject(descriptor) && descriptor.name === "grype";
  return isObject(first) && isObject(first.vulnerability) && isObject(first.artifact);
};

const states: Readonly<Record<string, FixState>> = { fixed: "FIXED", "not-fixed": "NOT_FIXED", "wont-fix": "WONT_FIX" };

const fixOf = (vulnerability: Field): Finding["fix"] => {
  const fix = vulnerability.at("fix");
  // Before 0.12 there was only a version.
  const earlier = vulnerability.at("fixedInVersion").name();
  if (fix.missing) return earlier === "" ? { state: "UNKNOWN", versions: [] } : { state: "FIXED", versions: [earlier] };
  const state = fix.at("state").name();
  return {
    state: Object.hasOwn(states, state) ? (states[state] ?? "UNKNOWN") : "UNKNOWN",
    versions: fix
      .at("versions")
      .list()
      .map((version) => version.name())
      .filter((version) => version !== ""),
  };
};

const scoresOf = (vulnerability: Field): Finding["scores"] => {
  const scores = vulnerability
    .at("cvss")
    .list()
    .map((entry) => ({
      score: scoreText(entry.at("metrics").at("baseScore")),
      version: vectorVersion(entry.at("vector").name(), entry.at("version").name(32)),
    }));
  for (const [key, version] of [
    ["cvssV2", "2.0"],
    ["cvssV3", "3.0"],
  ] as const) {
    const earlier = vulnerability.at(key);
    if (!earlier.missing) scores.push({ score: scoreText(earlier.at("baseScore")), version: vectorVersion(earlier.at("vector").name(), version) });
  }
  return scores.filter(({ score }) => score !== "");
};

const cpeParts = ["Part", "Vendor", "Product", "Version", "Update", "Edition", "Language", "SWEdition", "TargetSW", "TargetHW", "Other"];

/** Versions before 0.12 wrote parts. */
const cpeOf = (cpe: Field): string => {
  if (typeof cpe.value === "string") return cpe.name();
  if (!isObject(cpe.value)) return "";
  const part = (name: string): string => cpe.at(name).name() || "*";
  return `cpe:2.3:${cpeParts.map(part).join(":")}`;
};

const advisoriesOf = (vulnerability: Field): Record<string, string> =>
  Object.fromEntries(
    vulnerability
      .at("advisories")
      .list()
      .map((advisory): [string, string] => [advisory.at("id").name(), advisory.at("link").name()])
      .filter(([id]) => id !== ""),
  );

const packageOf = (artifact: Field): Finding["package"] => {
  const [name, version] = [artifact.at("name").required(), artifact.at("version").name()];
  const licenses = artifact
    .at("licenses")
    .list()
    .map((license) => (typeof license.value === "string" ? license.name() : license.at("value").name()))
    .filter((license) => license !== "");
  return { name, version, purl: artifact.at("purl").name() || makePurl("generic", name, version), license: licenses.join(", ") };
};

const findingOf = (match: Field): Finding => {
  const [vulnerability, artifact] = [match.at("vulnerability"), match.at("artifact")];
  const related = match
    .at("relatedVulnerabilities")
    .list()
    .map((each) => ({ id: each.at("id").id(), source: each.at("namespace").name() }));
  const id = vulnerability.at("id").id();
  return {
    id,
    aliases: [...new Set(related.map((each) => each.id))].filter((each) => each !== id),
    package: packageOf(artifact),
    severity: severityNamed(vulnerability.at("severity").name()),
    summary:
      vulnerability.at("description").prose() || (related.length > 0 ? match.at("relatedVulnerabilities").list()[0]?.at("description").prose() : "") || "",
    details: "",
    scores: scoresOf(vulnerability),
    fix: fixOf(vulnerability),
    urls: [
      ...new Set(
        [vulnerability.at("dataSource"), ...vulnerability.at("urls").list(), ...vulnerability.at("links").list()]
          .map((url) => url.name())
          .filter((url) => url !== ""),
      ),
    ],
    locations: artifact
      .at("locations")
      .list()
      .map((location) => location.at("path").name())
      .filter((path) => path !== ""),
    cpes: artifact
      .at("cpes")
      .list()
      .map(cpeOf)
      .filter((cpe) => cpe !== ""),
    source: vulnerability.at("namespace").name(),
    related,
    advisories: advisoriesOf(vulnerability),
  };
};

const digestsOf = (target: Field): string[] => {
  if (!isObject(target.value)) return [];
  const names = [target.at("userInput"), ...target.at("repoDigests").list(), target.at("manifestDigest")];
  return [...new Set(names.flatMap((name) => digestWithin(name.name()) ?? []))];
};

export const readGrype = (document: JsonObject): ReadReport => {
  const root = new Field(document);
  const descriptor = root.at("descriptor");
  const database = descriptor.at("db");
  const built = isObject(database.value) ? (database.at("built").missing ? database.at("status").at("built") : database.at("built")) : new Field(undefined);
  return {
    scanner: "GRYPE",
    tool: "grype",
    version: descriptor.at("version").name(255),
    databaseTimeMs: built.time(),
    createTimeMs: descriptor.at("timestamp").time(),
    digests: digestsOf(root.at("source").at("target")),
    findings: uniteFindings(root.at("matches").list().map(findingOf)),
  };
};
