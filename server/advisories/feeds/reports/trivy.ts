// Reads Trivy's JSON reports: schema 2, and the list of versions before 0.20. Ignores misconfigurations, secrets and licenses.

import { isObject, type Json } from "#base/json.ts";
import { Field } from "../field.ts";
import {
  digestWithin,
  type Finding,
  type FixState,
  makePurl,
  type ReadReport,
  scoreText,
  severityNamed,
  uniteFindings,
  UnreadableReportError,
  vectorVersion,
} from "./findings.ts";

const isResult = (value: Json | undefined): boolean => isObject(value) && typeof value.Target === "string";

/** Returns true for a report on one artifact. */
export const isTrivy = (document: Json): boolean => {
  if (Array.isArray(document)) return document.length > 0 && document.every(isResult);
  if (!isObject(document)) return false;
  if (document.SchemaVersion !== undefined && document.ArtifactName !== undefined) return true;
  return Array.isArray(document.Results) && document.Results.length > 0 && document.Results.every(isResult);
};

/** Returns true for a report on a cluster, which has many images without digests. */
export const isTrivyOfCluster = (document: Json): boolean => isObject(document) && document.ClusterName !== undefined;

const states: Readonly<Record<string, FixState>> = {
  fixed: "FIXED",
  affected: "NOT_FIXED",
  fix_deferred: "NOT_FIXED",
  will_not_fix: "WONT_FIX",
  end_of_life: "WONT_FIX",
};

const fixOf = (vulnerability: Field): Finding["fix"] => {
  const versions = vulnerability
    .at("FixedVersion")
    .name()
    .split(",")
    .map((version) => version.trim())
    .filter((version) => version !== "");
  const status = vulnerability.at("Status").name();
  // Before 0.44 there was only the version.
  if (status === "") return { state: versions.length > 0 ? "FIXED" : "NOT_FIXED", versions };
  return { state: Object.hasOwn(states, status) ? (states[status] ?? "UNKNOWN") : "UNKNOWN", versions };
};

const scoresOf = (vulnerability: Field): Finding["scores"] => {
  const byVendor = vulnerability.at("CVSS");
  const found = byVendor.keys().flatMap((vendor) =>
    (
      [
        ["V2", "2.0"],
        ["V3", "3.0"],
        ["V40", "4.0"],
      ] as const
    ).map(([name, version]) => {
      const entry = byVendor.at(vendor);
      return { score: scoreText(entry.at(`${name}Score`)), version: vectorVersion(entry.at(`${name}Vector`).name(), version) };
    }),
  );
  const scores = new Map(found.filter(({ score }) => score !== "").map((each) => [JSON.stringify([each.score, each.version]), each]));
  return [...scores.values()];
};

const purlTypes: Readonly<Record<string, string>> = {
  alpine: "apk/alpine",
  wolfi: "apk/wolfi",
  chainguard: "apk/chainguard",
  debian: "deb/debian",
  ubuntu: "deb/ubuntu",
  redhat: "rpm/redhat",
  centos: "rpm/centos",
  rocky: "rpm/rocky",
  alma: "rpm/alma",
  amazon: "rpm/amazon",
  oracle: "rpm/oracle",
  fedora: "rpm/fedora",
  photon: "rpm/photon",
  npm: "npm",
  yarn: "npm",
  pnpm: "npm",
  "node-pkg": "npm",
  bundler: "gem",
  gemspec: "gem",
  pip: "pypi",
  pipenv: "pypi",
  poetry: "pypi",
  uv: "pypi",
  "python-pkg": "pypi",
  composer: "composer",
  cargo: "cargo",
  gomod: "golang",
  gobinary: "golang",
  jar: "maven",
  pom: "maven",
  gradle: "maven",
  nuget: "nuget",
};

const packageOf = (vulnerability: Field, type: string): Finding["package"] => {
  const [name, version] = [vulnerability.at("PkgName").required(), vulnerability.at("InstalledVersion").name()];
  const purl = vulnerability.at("PkgIdentifier").at("PURL").name();
  const purlType = Object.hasOwn(purlTypes, type) ? (purlTypes[type] ?? "generic") : "generic";
  // A Java artifact is group:name.
  return { name, version, purl: purl || makePurl(purlType, purlType === "maven" ? name.replace(":", "/") : name, version), license: "" };
};

const findingOf = (vulnerability: Field, target: string, type: string): Finding => {
  const id = vulnerability.at("VulnerabilityID").id();
  const source = vulnerability.at("DataSource").at("ID").name() || vulnerability.at("SeveritySource").name();
  const vendorIds = vulnerability.at("VendorIDs").ids();
  const title = vulnerability.at("Title").prose();
  const description = vulnerability.at("Description").prose();
  const path = vulnerability.at("PkgPath").name();
  return {
    id,
    aliases: vendorIds.filter((each) => each !== id),
    package: packageOf(vulnerability, type),
    severity: severityNamed(vulnerability.at("Severity").name()),
    summary: title || description,
    details: title === "" ? "" : description,
    scores: scoresOf(vulnerability),
    fix: fixOf(vulnerability),
    urls: [...new Set([vulnerability.at("PrimaryURL"), ...vulnerability.at("References").list()].map((url) => url.name()).filter((url) => url !== ""))],
    locations: [path || target].filter((location) => location !== ""),
    cpes: [],
    source,
    related: vendorIds.map((each) => ({ id: each, source })),
    advisories: {},
  };
};

const digestsOf = (root: Field): string[] => {
  const names = [root.at("ArtifactName"), ...root.at("Metadata").at("RepoDigests").list()];
  return [...new Set(names.flatMap((name) => digestWithin(name.name()) ?? []))];
};

export const readTrivy = (document: Json): ReadReport => {
  if (isTrivyOfCluster(document)) throw new UnreadableReportError("is a cluster report without an image digest");
  const root = new Field(Array.isArray(document) ? { Results: document } : document);
  const findings = function* (): Generator<Finding> {
    for (const result of root.at("Results").list()) {
      const [target, type] = [result.at("Target").name(), result.at("Type").name()];
      // Without an ID it only lists a package.
      for (const each of result.at("Vulnerabilities").list()) if (!each.at("VulnerabilityID").missing) yield findingOf(each, target, type);
    }
  };
  return {
    scanner: "TRIVY",
    tool: "trivy",
    version: root.at("Trivy").at("Version").name(255),
    databaseTimeMs: undefined,
    createTimeMs: root.at("CreatedAt").time(),
    digests: digestsOf(root),
    findings: uniteFindings(findings()),
  };
};
