// VEX statements of decisions about findings (docs/decisions/0093), for both formats. Pure.
//
// A scanner knows no decisions, groups or advisories, only an ID, an image and a package. A statement on these three must therefore be
// true for all findings that they have in common.

import { hash } from "node:crypto";
import type { JsonObject } from "#base/json.ts";
import type { ExportedFinding, OpenFinding } from "#advisories/store";
import { packageOfLabel } from "../sbom/packages-of-purls.ts";

export type VexStatus = "not_affected" | "affected" | "under_investigation";

export interface StatedImage {
  /** "HOST/PATH@DIGEST" */
  readonly name: string;
  readonly purl: string;
  /** With the path without its last segment as `repository_url`, as grype and vexctl name images. */
  readonly shortPurl: string;
  /** Package URLs without qualifiers, since those of scanners differ. */
  readonly packages: readonly string[];
}

export interface DecisionStatement {
  readonly decision: string;
  /** A CVE ID if the advisory has one. */
  readonly name: string;
  /** IDs of the same vulnerability. */
  readonly aliases: readonly string[];
  /** When the decision was made. */
  readonly time: string;
  readonly status: VexStatus;
  /** "" unless the status is not_affected. */
  readonly justification: string;
  /** The reason; of an accepted risk, with its end. */
  readonly reason: string;
  readonly images: readonly StatedImage[];
}

export interface StatedDecisions {
  /** A hash of the statements: other statements are another document. */
  readonly id: string;
  readonly statements: readonly DecisionStatement[];
  readonly findingCount: number;
}

export interface ExportedDecisions {
  readonly findings: readonly ExportedFinding[];
  /** Findings of the same images without a decision. */
  readonly open: readonly OpenFinding[];
  /** The caller may see this decision. */
  readonly isShown: (decision: string) => boolean;
  /** Returns the path of names of a repo, from its organization on. */
  readonly pathOf: (repoUid: string) => string;
  /** Name and port of the registry. */
  readonly host: string;
}

export const cveForm = /^CVE-[0-9]{4}-[0-9]{4,}$/;

const statePrefix = "FINDING_DECISION_STATE_";

const statusOf = (state: string): VexStatus => {
  if (state === `${statePrefix}ACCEPTED`) return "affected";
  return state === `${statePrefix}UNDER_INVESTIGATION` ? "under_investigation" : "not_affected";
};

/** Of contradicting decisions, the first of these is stated. */
const statusOrder: readonly VexStatus[] = ["affected", "under_investigation", "not_affected"];

/** A false positive is a package that was mistaken for another one: the vulnerable component is not there. */
const justificationOf = ({ state, justification }: ExportedFinding): string => {
  if (state === `${statePrefix}FALSE_POSITIVE`) return "component_not_present";
  return state === `${statePrefix}NOT_AFFECTED` ? justification.replace("FINDING_DECISION_JUSTIFICATION_", "").toLowerCase() : "";
};

const reasonOf = ({ state, reason, expireTime }: ExportedFinding): string =>
  state === `${statePrefix}ACCEPTED` ? `Risk accepted${expireTime === undefined ? "" : ` until ${expireTime}`}: ${reason}` : reason;

/**
 * Returns the IDs that a decision states, the name first. An advisory with several CVE IDs is about several vulnerabilities, so the
 * decision states only the one that it names.
 */
export const statedIds = ({ vulnerability, advisoryId, aliases }: Pick<ExportedFinding, "vulnerability" | "advisoryId" | "aliases">): string[] => {
  const all = [...new Set([advisoryId, ...aliases, vulnerability])];
  const cves = all.filter((id) => cveForm.test(id));
  if (cves.length > 1) return [vulnerability];
  const name = cves[0] ?? vulnerability;
  return [name, ...all.filter((id) => id !== name).sort()];
};

const unqualified = (label: string): string => label.split("?", 1)[0] ?? "";

const packageKey = ({ repoUid, digest, packageName, installedVersion }: OpenFinding): string =>
  JSON.stringify([repoUid, digest, unqualified(packageName), installedVersion]);

interface StatedFinding {
  readonly finding: ExportedFinding;
  readonly ids: readonly string[];
}

/** Sorts the decision that is stated first: by status, then the latest. */
const precedes = (one: ExportedFinding, other: ExportedFinding): boolean => {
  const order = statusOrder.indexOf(statusOf(one.state)) - statusOrder.indexOf(statusOf(other.state));
  return order === 0 ? `${one.createTime} ${one.decision}` > `${other.createTime} ${other.decision}` : order < 0;
};

const epochForm = /^([1-9]\d*):(.+)$/;

/** Returns the package URLs that scanners use; those of deb and rpm have the epoch in the version or as a qualifier. */
const packagePurls = ({ packageName, installedVersion }: ExportedFinding): string[] => {
  const { type, purl } = packageOfLabel(unqualified(packageName), installedVersion);
  const [, epoch, rest = ""] = epochForm.exec(installedVersion) ?? [];
  if (epoch === undefined || (type !== "deb" && type !== "rpm")) return [purl];
  return [purl, `${packageOfLabel(unqualified(packageName), rest).purl}?epoch=${epoch}`];
};

const encoded = (text: string): string => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%3A", ":");

const imageOf = (host: string, path: string, digest: string): Omit<StatedImage, "packages"> => {
  const above = path.slice(0, path.lastIndexOf("/"));
  const name = path.slice(path.lastIndexOf("/") + 1);
  const purl = `pkg:oci/${encodeURIComponent(name.toLowerCase())}@${digest.replace(":", "%3A")}`;
  return {
    name: `${host}/${path}@${digest}`,
    purl: `${purl}?repository_url=${encoded(`${host}/${path}`)}`,
    shortPurl: `${purl}?repository_url=${encoded(above === "" ? host : `${host}/${above}`)}`,
  };
};

const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Selects the findings that a scanner cannot mistake for others, with the IDs that they state. */
const selectStated = ({ findings, open, isShown }: ExportedDecisions): StatedFinding[] => {
  const openClaims = new Set<string>();
  for (const finding of open) {
    const key = packageKey(finding);
    for (const id of [finding.advisoryId, ...finding.aliases]) openClaims.add(key + id);
  }
  const first = new Map<string, ExportedFinding>();
  const all = findings.map((finding) => {
    const key = packageKey(finding);
    const ids = statedIds(finding);
    return { finding, ids, claims: ids.map((id) => key + id) };
  });
  for (const { finding, claims } of all) {
    for (const claim of claims) {
      const known = first.get(claim);
      if (!known || (known.decision !== finding.decision && precedes(finding, known))) first.set(claim, finding);
    }
  }
  return all.filter(
    ({ finding, claims }) =>
      finding.repoUid !== "" &&
      finding.digest !== "" &&
      finding.packageName.startsWith("pkg:") &&
      isShown(finding.decision) &&
      claims.every((claim) => !openClaims.has(claim) && first.get(claim)?.decision === finding.decision),
  );
};

const statementOf = (stated: readonly [StatedFinding, ...StatedFinding[]], imageAt: (finding: ExportedFinding) => Omit<StatedImage, "packages">) => {
  const [{ finding: first, ids }] = stated;
  const [name = "", ...aliases] = ids;
  const images = [...Map.groupBy(stated, ({ finding }) => `${finding.repoUid}@${finding.digest}`).values()].flatMap((own): StatedImage[] => {
    const [of] = own;
    return of === undefined ? [] : [{ ...imageAt(of.finding), packages: [...new Set(own.flatMap(({ finding }) => packagePurls(finding)))].sort(byText) }];
  });
  return {
    decision: first.decision,
    name,
    aliases,
    time: first.createTime,
    status: statusOf(first.state),
    justification: justificationOf(first),
    reason: reasonOf(first),
    images: images.sort((one, other) => byText(one.name, other.name)),
  };
};

/** Returns the statements in the order in which the decisions were made; one for each decision and set of IDs. */
export const statementsOf = (exported: ExportedDecisions): StatedDecisions => {
  const stated = selectStated(exported);
  const groups = Map.groupBy(stated, ({ finding, ids }) => JSON.stringify([finding.createTime, finding.decision, ...ids]));
  const statements = [...groups]
    .sort(([one], [other]) => byText(one, other))
    .flatMap(([, [first, ...others]]) =>
      first ? [statementOf([first, ...others], ({ repoUid, digest }) => imageOf(exported.host, exported.pathOf(repoUid), digest))] : [],
    );
  return { id: hash("sha256", JSON.stringify(statements), "hex").slice(0, 32), statements, findingCount: stated.length };
};

/** What a document says about itself. */
export interface DecisionsDocument {
  /** Of the organization. */
  readonly author: string;
  /** Address of the export. */
  readonly address: string;
  readonly publicUrl: string;
  /** Of the statements. */
  readonly id: string;
  /** When the latest of the decisions was made. */
  readonly time: string;
  readonly statements: readonly DecisionStatement[];
}

export type WriteDecisions = (document: DecisionsDocument) => JsonObject;
