// Writes the result of matching (server/advisories/feeds/match-images.ts) as Gantry's report on an image, if it has none and after each
// change. An unaffected image has a report without findings.

import { hash } from "node:crypto";
import { cvssScore } from "#base/cvss.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import {
  type AffectedPackageOfImage,
  findAffectedOfImages,
  findKnownImages,
  findLatestDocuments,
  type ImageRepo,
  insertVulnReports,
  type KnownImage,
  type KnownSeverities,
  readSeverities,
  severitiesOf,
  type VulnReportDraft,
} from "#advisories/store";
import type { Write } from "#db";
import { readPurlParts } from "../formats/purl.ts";
import { type Finding, makePurl, type ReadReport, severityRanks, uniteFindings } from "./findings.ts";
import { factsOf, reportDraft } from "./read-report.ts";

const ownTool = "gantry";

const packageOf = ({ packageName, installedVersion }: AffectedPackageOfImage): Finding["package"] => {
  const parts = readPurlParts(packageName);
  if (!parts) return { name: packageName, version: installedVersion, purl: makePurl("apk", packageName, installedVersion), license: "" };
  const [path = "", ...qualifiers] = packageName.split("?");
  const purl = `${path}@${encodeURIComponent(installedVersion)}${qualifiers.length > 0 ? `?${qualifiers.join("?")}` : ""}`;
  return { name: parts.name, version: installedVersion, purl, license: "" };
};

const findingOf = (affected: AffectedPackageOfImage, known: KnownSeverities, root: string): Finding => {
  const { advisoryId, aliases, fixedVersion } = affected;
  const numbers = [...new Set([...aliases, advisoryId])];
  const id = numbers.find((number) => number.startsWith("CVE-")) ?? advisoryId;
  const others = numbers.filter((number) => number !== id);
  const said = severitiesOf(known, root, numbers).map((each) => text(each, "score"));
  const scores = said.flatMap((score) => cvssScore(score) ?? []);
  const severity = severityRanks.find((each) => each === affected.severity) ?? "UNKNOWN";
  return {
    id,
    aliases: others,
    package: packageOf(affected),
    severity,
    summary: "",
    details: "",
    scores: scores.map(({ score, version }) => ({ score: score.toFixed(1), version })),
    fix: fixedVersion === "" ? { state: "NOT_FIXED", versions: [] } : { state: "FIXED", versions: [fixedVersion] },
    urls: [],
    locations: [],
    cpes: [],
    source: ownTool,
    related: others.map((each) => ({ id: each, source: "" })),
    advisories: {},
  };
};

const reportOf = (version: string, image: KnownImage, findings: readonly Finding[], nowMs: number): ReadReport => ({
  scanner: "UNKNOWN",
  tool: ownTool,
  version,
  databaseTimeMs: undefined,
  createTimeMs: nowMs,
  digests: [image.digest],
  findings,
});

const imageKey = ({ repoUid, digest }: KnownImage): string => `${repoUid} ${digest}`;

/** Writes the reports in the transaction that matched the images. */
export const writeOwnReports = async (rows: Write, { version }: Services, root: string, repos: readonly ImageRepo[], nowMs: number): Promise<void> => {
  for (let from = 0; from < repos.length; from += limits.ownReportRepos) {
    const images = await findKnownImages(rows, repos.slice(from, from + limits.ownReportRepos));
    const affected = await findAffectedOfImages(rows, root, images);
    const numbers = affected.flatMap(({ advisoryId, aliases }) => [advisoryId, ...aliases]);
    const known = numbers.length > 0 ? await readSeverities(rows, [root], numbers) : new Map<string, never>();
    const latest = new Map((await findLatestDocuments(rows, ownTool, images)).map((each) => [imageKey(each), each.documentDigest]));
    const byImage = new Map(images.map((image) => [imageKey(image), [] as Finding[]]));
    for (const each of affected) byImage.get(imageKey(each))?.push(findingOf(each, known, root));
    const drafts: VulnReportDraft[] = [];
    for (const image of images) {
      const findings = uniteFindings(byImage.get(imageKey(image)) ?? []);
      const content = { tool: { name: ownTool, version }, digest: image.digest, findings };
      // By content, not time: an unchanged result adds no report, a result that returns after a change does.
      const said = `sha256:${hash("sha256", JSON.stringify(content), "hex")}`;
      if (latest.get(imageKey(image))?.startsWith(`${said}@`)) continue;
      const facts = factsOf(reportOf(version, image, findings, nowMs), JSON.stringify({ ...content, createdAt: timestamp(nowMs) }, undefined, 2));
      drafts.push({ ...reportDraft(facts, image, "", nowMs), documentDigest: `${said}@${timestamp(nowMs)}` });
    }
    await insertVulnReports(rows, drafts, nowMs);
  }
};
