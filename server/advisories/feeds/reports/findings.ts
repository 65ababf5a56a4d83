// The common model of scanner reports.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Field } from "../field.ts";

export type ReportSeverity = "UNKNOWN" | "NEGLIGIBLE" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
export type FixState = "UNKNOWN" | "FIXED" | "NOT_FIXED" | "WONT_FIX";

export interface FoundPackage {
  readonly name: string;
  /** "" if the report has none. */
  readonly version: string;
  readonly purl: string;
  readonly license: string;
}

export interface Finding {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly package: FoundPackage | undefined;
  readonly severity: ReportSeverity;
  readonly summary: string;
  readonly details: string;
  readonly scores: readonly { readonly score: string; readonly version: string }[];
  readonly fix: { readonly state: FixState; readonly versions: readonly string[] };
  readonly urls: readonly string[];
  readonly locations: readonly string[];
  readonly cpes: readonly string[];
  /** A namespace or database. */
  readonly source: string;
  readonly related: readonly { readonly id: string; readonly source: string }[];
  /** URLs by ID. */
  readonly advisories: Readonly<Record<string, string>>;
}

export interface ReadReport {
  /** "GRYPE", "TRIVY" or "UNKNOWN". */
  readonly scanner: string;
  /** "grype", "trivy", or the tool's name. */
  readonly tool: string;
  readonly version: string;
  /** Milliseconds since 1970; undefined if missing. */
  readonly databaseTimeMs: number | undefined;
  readonly createTimeMs: number | undefined;
  /** First the pulled image's, then the platform manifest's. */
  readonly digests: readonly string[];
  readonly findings: readonly Finding[];
}

/** The message says why the report is refused. */
export class UnreadableReportError extends Error {}

const digestForm = /sha256:[0-9a-f]{64}$/;

/** Returns the digest in "alpine@sha256:…" or "sha256:…"; undefined if there is none. */
export const digestWithin = (name: string): string | undefined => digestForm.exec(name)?.[0];

const severities: Readonly<Record<string, ReportSeverity>> = {
  critical: "CRITICAL",
  high: "HIGH",
  important: "HIGH",
  medium: "MEDIUM",
  moderate: "MEDIUM",
  low: "LOW",
  negligible: "NEGLIGIBLE",
};

/** Returns UNKNOWN for other words. */
export const severityNamed = (word: string): ReportSeverity => {
  const name = word.trim().toLowerCase();
  return Object.hasOwn(severities, name) ? (severities[name] ?? "UNKNOWN") : "UNKNOWN";
};

/** Returns the band of CVSS 3 and 4; 0 is unknown. */
export const severityOfScore = (score: number): ReportSeverity =>
  score >= 9 ? "CRITICAL" : score >= 7 ? "HIGH" : score >= 4 ? "MEDIUM" : score > 0 ? "LOW" : "UNKNOWN";

/** Returns the contract's value for a tool. */
export const scannerOf = (tool: string): string => {
  const name = tool.toLowerCase();
  return name === "grype" ? "GRYPE" : name === "trivy" ? "TRIVY" : "UNKNOWN";
};

/** Returns a number as text; "" if missing. */
export const scoreText = (field: Field): string =>
  typeof field.value === "number" && Number.isFinite(field.value) ? String(field.value) : field.missing ? "" : field.name(32);

/** Returns "3.1" for "CVSS:3.1/AV:N/…". */
export const vectorVersion = (vector: string, otherwise: string): string => /^CVSS:(\d\.\d)\//.exec(vector)?.[1] ?? otherwise;

/** Builds a package URL for findings without one. */
export const makePurl = (type: string, name: string, version: string): string => {
  const path = name
    .split("/")
    .filter((step) => step !== "")
    .map(encodeURIComponent)
    .join("/");
  return `pkg:${type}/${path}${version === "" ? "" : `@${encodeURIComponent(version)}`}`;
};

const findingKey = ({ id, package: found, severity, fix }: Finding): string =>
  JSON.stringify([id, found?.purl ?? "", found?.name ?? "", found?.version ?? "", severity, fix.state, fix.versions]);

const unite = (one: readonly string[], other: readonly string[]): string[] => [...new Set([...one, ...other])];

/** Merges findings on the same package version. */
export const uniteFindings = (findings: Iterable<Finding>): Finding[] => {
  const found = new Map<string, Finding>();
  for (const finding of findings) {
    const key = findingKey(finding);
    const known = found.get(key);
    if (!known && found.size >= limits.reportFindingsMax) throw new UnreadableReportError(`contains more than ${limits.reportFindingsMax} findings`);
    found.set(
      key,
      known
        ? {
            ...known,
            aliases: unite(known.aliases, finding.aliases),
            locations: unite(known.locations, finding.locations),
            urls: unite(known.urls, finding.urls),
            cpes: unite(known.cpes, finding.cpes),
          }
        : finding,
    );
  }
  return [...found.values()];
};

/** The least severe first. */
export const severityRanks: readonly ReportSeverity[] = ["UNKNOWN", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH", "CRITICAL"];

export const worseOf = (one: ReportSeverity, other: ReportSeverity): ReportSeverity =>
  severityRanks.indexOf(one) >= severityRanks.indexOf(other) ? one : other;

/** Returns the worst severity for each vulnerability. */
export const severityById = (findings: readonly Finding[]): JsonObject => {
  const found = new Map<string, ReportSeverity>();
  for (const { id, severity } of findings) found.set(id, worseOf(found.get(id) ?? "UNKNOWN", severity));
  // fromEntries accepts __proto__ as an ordinary key.
  return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
};
