// What a scanner's report says, whichever scanner wrote it: who found what in which package, how bad it is and what fixes it.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Field } from "../field.ts";

export type ReportSeverity = "UNKNOWN" | "NEGLIGIBLE" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
export type FixState = "UNKNOWN" | "FIXED" | "NOT_FIXED" | "WONT_FIX";

/** A package of the image, as the scanner names it. */
export interface FoundPackage {
  readonly name: string;
  /** "" where the report does not say. */
  readonly version: string;
  readonly purl: string;
  readonly license: string;
}

/** A vulnerability of a package. */
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
  /** Where the scanner has it from: a namespace or a source of data. */
  readonly source: string;
  readonly related: readonly { readonly id: string; readonly source: string }[];
  /** Links of the distributor's advisories, by their numbers. */
  readonly advisories: Readonly<Record<string, string>>;
}

/** A report as it was read. */
export interface ReadReport {
  /** "GRYPE", "TRIVY", or "UNKNOWN" for all other tools. */
  readonly scanner: string;
  /** "grype", "trivy", or what the tool calls itself. */
  readonly tool: string;
  readonly version: string;
  /** Milliseconds since 1970; undefined where it is not said. */
  readonly databaseTimeMs: number | undefined;
  readonly createTimeMs: number | undefined;
  /** Of the image, by all names that the report gives it: of what was pulled first, then of the platform's manifest. */
  readonly digests: readonly string[];
  readonly findings: readonly Finding[];
}

/** It is a report, and cannot be taken, for a reason that is told. */
export class UnreadableReportError extends Error {}

const digestForm = /sha256:[0-9a-f]{64}$/;

/** "alpine@sha256:…", "sha256:…": the digest; undefined where there is none. */
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

export const severityNamed = (word: string): ReportSeverity => {
  const name = word.trim().toLowerCase();
  return Object.hasOwn(severities, name) ? (severities[name] ?? "UNKNOWN") : "UNKNOWN";
};

/** The bands of CVSS 3 and 4: 0 says nothing. */
export const severityOfScore = (score: number): ReportSeverity =>
  score >= 9 ? "CRITICAL" : score >= 7 ? "HIGH" : score >= 4 ? "MEDIUM" : score > 0 ? "LOW" : "UNKNOWN";

/** The tools that have a name of their own in the contract, whatever form they write. */
export const scannerOf = (tool: string): string => {
  const name = tool.toLowerCase();
  return name === "grype" ? "GRYPE" : name === "trivy" ? "TRIVY" : "UNKNOWN";
};

/** A number as it stands in the report; "" where there is none. */
export const scoreText = (field: Field): string =>
  typeof field.value === "number" && Number.isFinite(field.value) ? String(field.value) : field.missing ? "" : field.name(32);

/** "CVSS:3.1/AV:N/…": 3.1; of a vector without it the number that its place says. */
export const vectorVersion = (vector: string, otherwise: string): string => /^CVSS:(\d\.\d)\//.exec(vector)?.[1] ?? otherwise;

/** A package URL of what has none in the report. */
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

/** What is found twice of the same package in the same version is one finding, in both places. */
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

const ranks: readonly ReportSeverity[] = ["UNKNOWN", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH", "CRITICAL"];

/** The worse of two. */
export const worseOf = (one: ReportSeverity, other: ReportSeverity): ReportSeverity => (ranks.indexOf(one) >= ranks.indexOf(other) ? one : other);

/** The severity of each vulnerability that a report names; of several packages the worst. */
export const severityById = (findings: readonly Finding[]): JsonObject => {
  const found = new Map<string, ReportSeverity>();
  for (const { id, severity } of findings) found.set(id, worseOf(found.get(id) ?? "UNKNOWN", severity));
  // A name such as __proto__ is a key like any other here.
  return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
};
