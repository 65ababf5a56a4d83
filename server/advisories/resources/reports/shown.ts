// Converts stored reports to version 1: as list entries (chainguard.platform.registry) and as an image's report
// (chainguard.platform.tenant).

import type { JsonObject } from "#base/json.ts";
import type { Finding } from "#advisories/feeds";
import type { VulnReportHead } from "#advisories/store";

const filled = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0)));

/** A tool outside the enum is part of the version: "govulncheck/v1.3.0". */
const shownVersion = ({ scanner, tool, version }: VulnReportHead): string => (scanner !== "UNKNOWN" ? version : version === "" ? tool : `${tool}/${version}`);

const scannerOf = (head: VulnReportHead): JsonObject => ({
  name: head.scanner,
  ...filled({ version: shownVersion(head), dbBuildTime: head.databaseTime }),
});

export const headOf = (head: VulnReportHead): JsonObject => ({ digest: head.digest, scanner: scannerOf(head), createdAt: head.createTime });

const fixOf = ({ fix: { state, versions } }: Finding): JsonObject => ({ ...filled({ versions: [...versions] }), state });

const scoresOf = ({ scores }: Finding): JsonObject[] => scores.map(({ score, version }) => filled({ score, version }));

/** True for a report by the server's own matching, which omits packages that no source covers (docs/decisions/0074). */
export const isOwnReport = ({ scanner, tool }: Pick<VulnReportHead, "scanner" | "tool">): boolean => scanner === "UNKNOWN" && tool === "gantry";

export const withUnjudged = (message: JsonObject, unjudged: readonly JsonObject[]): JsonObject =>
  unjudged.length === 0 ? message : { ...message, unjudged: [...unjudged] };

export const vulnerabilityOf = (finding: Finding): JsonObject => ({
  ...filled({
    id: finding.id,
    aliases: [...finding.aliases],
    purls: finding.package ? [finding.package.purl] : [],
    description: finding.summary,
    details: finding.details,
    severity: finding.severity,
    cvss: scoresOf(finding),
    relatedUrls: [...finding.urls],
    locations: [...finding.locations],
  }),
  fix: fixOf(finding),
});

export const reportOf = (head: VulnReportHead, findings: readonly Finding[]): JsonObject => ({
  ...headOf(head),
  vulnerabilities: findings.map(vulnerabilityOf),
});

const displayIdOf = ({ id, aliases }: Finding): string => [id, ...aliases].find((each) => each.startsWith("CVE-")) ?? id;

const matchOf = (finding: Finding): JsonObject => {
  const { package: found, advisories, severity } = finding;
  return {
    vulnerability: filled({
      id: finding.id,
      description: finding.summary,
      severity: severity === "NEGLIGIBLE" ? "LOW" : severity,
      source: finding.source,
      cvss: scoresOf(finding),
      cpeUri: [...finding.cpes],
      relatedUrls: [...finding.urls],
      ...(Object.keys(advisories).length > 0 ? { advisories: { ...advisories } } : {}),
      relatedVulnerabilities: finding.related.map((each) => filled({ ...each })),
      displayId: displayIdOf(finding),
    }),
    ...(found ? { pkg: filled({ id: found.purl, name: found.name, version: found.version, license: found.license, purl: found.purl }) } : {}),
    fix: fixOf(finding),
  };
};

export const imageReportOf = (id: string, head: VulnReportHead, findings: readonly Finding[]): JsonObject => ({
  id,
  ...filled({ vulnerabilityDbLastBuildTime: head.databaseTime }),
  vulnerabilityMatches: findings.map(matchOf),
  scanner: filled({ name: head.tool, version: head.version }),
  reportGeneration: head.createTime,
  lastSeen: head.seenTime,
});
