// Reads one scanner report: plain, or the predicate of an in-toto statement in a DSSE envelope or bundle, as for SBOMs
// (server/advisories/feeds/sbom/read-sbom.ts).

import { hash } from "node:crypto";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { VulnReportDraft } from "#advisories/store";
import { DocumentError, FieldError, pathText } from "../invalid.ts";
import { decode, hasTooManyValues, OtherStatementError, tooManyValues, UnreadableError, unwrapStatement } from "../sbom/statement.ts";
import { readJson } from "../parse/json.ts";
import { type ReadReport, severityById, UnreadableReportError } from "./findings.ts";
import { isGrype, readGrype } from "./grype.ts";
import { isSarif, readSarif } from "./sarif.ts";
import { packReport } from "./stored-report.ts";
import { isTrivy, isTrivyOfCluster, readTrivy } from "./trivy.ts";

export interface ReportFacts extends Omit<ReadReport, "findings"> {
  readonly count: number;
  /** JSON by vulnerability ID. */
  readonly severities: string;
  /** JSON (findings.ts), deflated (RFC 1951), in base64. */
  readonly findings: string;
  /** The original, deflated, in base64; then its size and digest. */
  readonly raw: string;
  readonly rawBytes: number;
  readonly documentDigest: string;
}

export type ReportReading =
  | { readonly report: ReportFacts }
  | { readonly problem: string }
  /** Another statement about the image. */
  | { readonly isOther: true };

const parse = async (text: string): Promise<Json> => {
  if (hasTooManyValues(text)) throw new UnreadableReportError(tooManyValues);
  return readJson(text);
};

const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/**
 * Scanners copy what they find (a version in a real report contains a NUL), and control characters act as commands in logs and
 * terminals (attack 28).
 */
const withoutControls = (value: Json): Json => {
  if (typeof value === "string") return value.replace(controls, "\uFFFD").toWellFormed();
  if (Array.isArray(value)) return value.map(withoutControls);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withoutControls(entry)])) : value;
};

const reportOf = (document: Json): ReadReport => {
  if (isTrivyOfCluster(document) || isTrivy(document)) return readTrivy(document);
  if (isObject(document) && isSarif(document)) return readSarif(document);
  if (isObject(document) && isGrype(document)) return readGrype(document);
  throw new UnreadableReportError("is not a JSON report of Grype or Trivy, or SARIF");
};

export const factsOf = ({ findings, ...facts }: ReadReport, raw: Uint8Array | string): ReportFacts => ({
  ...facts,
  count: findings.length,
  severities: JSON.stringify(severityById(findings)),
  ...packReport(findings, raw),
  documentDigest: `sha256:${hash("sha256", raw, "hex")}`,
});

/** @param about digests of the image: a statement that names subjects must be about one of these */
export const readReport = async (bytes: Uint8Array, about: readonly string[]): Promise<ReportReading> => {
  try {
    if (bytes.length > limits.reportBytesMax) throw new UnreadableReportError(`has more than ${limits.reportBytesMax} bytes`);
    const value = await parse(decode(bytes));
    const inner = await unwrapStatement(value, about, /vuln|sarif|grype|trivy/i, parse);
    // cosign's predicate wraps the scanner's report.
    const scanned = isObject(inner) && isObject(inner.scanner) ? inner.scanner.result : undefined;
    const document = scanned ?? inner;
    return { report: factsOf(reportOf(withoutControls(document)), document === value ? bytes : JSON.stringify(document)) };
  } catch (thrown) {
    if (thrown instanceof OtherStatementError) return { isOther: true };
    if (thrown instanceof UnreadableReportError || thrown instanceof UnreadableError) return { problem: thrown.message };
    if (thrown instanceof DocumentError) return { problem: `line ${thrown.line}: ${thrown.message}` };
    if (thrown instanceof FieldError) return { problem: `${pathText(thrown.path) || "it"} ${thrown.message}` };
    throw thrown;
  }
};

/** Returns the row, with a time no later than arrival: a future time would hide later reports. */
export const reportDraft = (
  { digests: _digests, count, ...facts }: ReportFacts,
  { repoUid, digest }: { readonly repoUid: string; readonly digest: string },
  manifestDigest: string,
  comeMs: number,
): VulnReportDraft => ({ ...facts, repoUid, digest, findingCount: count, createTimeMs: Math.min(facts.createTimeMs ?? comeMs, comeMs), manifestDigest });
