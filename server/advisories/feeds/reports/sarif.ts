// Reads vulnerabilities from SARIF 2.1.0 reports of any tool. SARIF has no fields for packages, versions and fixes; Grype and
// Trivy write lines of text ("Package: openssl").

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { Field } from "../field.ts";
import {
  digestWithin,
  type Finding,
  makePurl,
  type ReadReport,
  type ReportSeverity,
  scannerOf,
  scoreText,
  severityNamed,
  severityOfScore,
  uniteFindings,
  UnreadableReportError,
  vectorVersion,
} from "./findings.ts";

export const isSarif = (document: JsonObject): boolean => Array.isArray(document.runs) && typeof document.version === "string";

// Rule IDs of other kinds do not resemble these.
const idForms = [
  /^CVE-\d{4}-\d{4,19}(?![0-9A-Za-z])/,
  /^GHSA(?:-[0-9a-z]{4}){3}(?![0-9A-Za-z])/,
  /^(?:GO|PYSEC|RUSTSEC|MAL|OSV|EEF|HSEC|CGA|GSD|BIT)-[0-9A-Za-z]{4}(?:-[0-9a-z]{1,19}){1,2}(?![0-9A-Za-z])/,
  /^(?:DSA|DLA|USN)-\d{1,9}-\d{1,3}(?![0-9A-Za-z])/,
  /^(?:RHSA|RLSA|ALSA)-\d{4}:\d{1,9}(?![0-9A-Za-z])/,
  /^(?:ELSA|ALAS\d{0,2})-\d{4}-\d{1,9}(?![0-9A-Za-z])/,
  /^TEMP-\d{7}-[0-9A-F]{6}(?![0-9A-Za-z])/,
];

const idWithin = (name: string): string | undefined => idForms.map((form) => form.exec(name)?.[0]).find((found) => found !== undefined);

/** Lines such as "Package: openssl". */
const labelled = (...texts: readonly string[]): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    const at = line.indexOf(": ");
    const label = at < 0 ? "" : line.slice(0, at).trim().toLowerCase();
    if (label !== "" && label.length <= 32 && !found.has(label)) found.set(label, line.slice(at + 2).trim());
  }
  return found;
};

const first = (found: ReadonlyMap<string, string>, ...labels: readonly string[]): string =>
  labels.map((label) => found.get(label) ?? "").find((value) => value !== "") ?? "";

const textOf = (field: Field): string => (isObject(field.value) ? field.at("text").prose() : "");

const severityOf = (said: string, properties: readonly Field[]): ReportSeverity => {
  const named = severityNamed(said);
  if (named !== "UNKNOWN") return named;
  for (const each of properties) {
    const score = Number(scoreText(each.at("security-severity")) || Number.NaN);
    if (severityOfScore(score) !== "UNKNOWN") return severityOfScore(score);
    for (const key of ["severity", "cvssv3_baseSeverity", "cvssv2_severity"]) {
      const word = severityNamed(typeof each.at(key).value === "string" ? each.at(key).name() : "");
      if (word !== "UNKNOWN") return word;
    }
  }
  // `level` depends on the tool's settings, not on severity.
  return "UNKNOWN";
};

const scoresOf = (properties: readonly Field[]): Finding["scores"] =>
  properties.flatMap((each) =>
    [
      { score: scoreText(each.at("cvssv3_baseScore")), version: vectorVersion(each.at("cvssv3_vector").name(), "3.0") },
      { score: scoreText(each.at("cvssv2_score")), version: "2.0" },
    ].filter(({ score }) => score !== ""),
  );

const idsOf = (tags: Field): string[] => tags.list().flatMap((tag) => (typeof tag.value === "string" ? (idWithin(tag.name()) ?? []) : []));

const locationsOf = (result: Field): string[] => [
  ...new Set(
    result
      .at("locations")
      .list()
      .map((location) => location.at("physicalLocation").at("artifactLocation").at("uri").name())
      .filter((uri) => uri !== ""),
  ),
];

const propertiesOf = (field: Field): Field[] => (isObject(field.at("properties").value) ? [field.at("properties")] : []);

/** Undefined if it is not about a vulnerability. */
const findingOf = (result: Field, rule: Field): Finding | undefined => {
  const ruleId = result.at("ruleId").name() || rule.at("id").name();
  const message = textOf(result.at("message"));
  const help = textOf(rule.at("help"));
  const said = labelled(message, help);
  const id = idWithin(ruleId);
  if (id === undefined) return undefined;
  const properties = [...propertiesOf(result), ...propertiesOf(rule)];
  const name = first(said, "package").slice(0, limits.feedNameLengthMax);
  const version = first(said, "installed version", "version").slice(0, limits.versionLengthMax);
  const fixed = first(said, "fixed version", "fix version")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const url = rule.at("helpUri").name(limits.feedUrlLengthMax);
  const aliases = [...new Set(properties.flatMap((each) => idsOf(each.at("tags"))))].filter((each) => each !== id);
  return {
    id,
    aliases,
    package: name === "" ? undefined : { name, version, purl: makePurl("generic", name, version), license: "" },
    severity: severityOf(first(said, "severity"), properties),
    summary: textOf(rule.at("shortDescription")) || message,
    details: textOf(rule.at("fullDescription")),
    scores: scoresOf(properties),
    fix: { state: fixed.length > 0 ? "FIXED" : "UNKNOWN", versions: fixed },
    urls: url === "" ? [] : [url],
    locations: locationsOf(result),
    cpes: [],
    source: first(said, "data namespace").slice(0, limits.feedNameLengthMax),
    related: aliases.map((each) => ({ id: each, source: "" })),
    advisories: {},
  };
};

const endOf = (run: Field): number | undefined => {
  const ends = run
    .at("invocations")
    .list()
    .map((invocation) => invocation.at("endTimeUtc").time());
  return ends.reduce((one, other) => (one === undefined || (other !== undefined && other > one) ? other : one), undefined);
};

const digestsOf = (run: Field): string[] => {
  const [properties] = propertiesOf(run);
  if (!properties) return [];
  const names = [properties.at("imageName"), ...properties.at("repoDigests").list()];
  return [...new Set(names.flatMap((name) => (typeof name.value === "string" ? (digestWithin(name.name()) ?? []) : [])))];
};

const runFindings = (run: Field): Finding[] => {
  const rules = run.at("tool").at("driver").at("rules").list();
  const byId = new Map(rules.map((rule) => [rule.at("id").name(), rule]));
  const none = new Field(undefined as Json | undefined);
  return run
    .at("results")
    .list()
    .flatMap((result) => {
      const index = result.at("ruleIndex").value;
      const rule = byId.get(result.at("ruleId").name()) ?? (typeof index === "number" ? rules[index] : undefined);
      return findingOf(result, rule ?? none) ?? [];
    });
};

export const readSarif = (document: JsonObject): ReadReport => {
  const runs = new Field(document).at("runs").entries();
  const drivers = runs.map((run) => run.at("tool").at("driver"));
  const tools = new Set(drivers.map((driver) => driver.at("name").required()));
  const [driver, run] = [drivers[0], runs[0]];
  if (tools.size > 1 || !driver || !run) throw new UnreadableReportError("contains runs of several tools; each becomes a report");
  const tool = driver.at("name").name(64);
  const findings = uniteFindings(runs.flatMap(runFindings));
  const scanner = scannerOf(tool);
  // An empty report counts only from a known scanner.
  if (findings.length === 0 && (scanner === "UNKNOWN" || runs.some((each) => each.at("results").list().length > 0)))
    throw new UnreadableReportError("names no vulnerability by its number");
  const properties = propertiesOf(driver)[0];
  return {
    scanner,
    tool: scanner === "UNKNOWN" ? tool : tool.toLowerCase(),
    version: driver.at("version").name(128) || driver.at("semanticVersion").name(128),
    databaseTimeMs: properties && typeof properties.at("db_last_modified").value === "string" ? properties.at("db_last_modified").time() : undefined,
    createTimeMs: endOf(run),
    digests: [...new Set(runs.flatMap(digestsOf))],
    findings,
  };
};
