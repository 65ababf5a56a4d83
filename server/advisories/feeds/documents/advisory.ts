// A published advisory as the source of documents. Pure.

import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import type { AdvisoryRow } from "#advisories/store";

export interface Published extends AdvisoryRow {
  readonly approved: readonly JsonObject[];
  readonly severities: readonly JsonObject[];
}

const approvedState = "REVIEW_STATE_APPROVED";

export const publishedOf = (row: AdvisoryRow, severities: readonly JsonObject[]): Published => {
  const events = JSON.parse(row.events) as Json;
  const approved = (Array.isArray(events) ? events.filter(isObject) : []).filter((event) => text(event, "reviewState") === approvedState);
  return { ...row, approved, severities };
};

export type Status = "affected" | "not_affected" | "fixed" | "under_investigation";

export interface EventStatus {
  readonly status: Status;
  readonly fixedVersions: readonly string[];
  /** FalsePositiveDetermination.Type */
  readonly reason: string;
  /** The remediation, if affected. */
  readonly action: string;
  readonly note: string;
  readonly time: string;
}

const actions: Readonly<Record<string, string>> = {
  truePositiveDetermination: "The vulnerability applies; there is no fix yet.",
  fixNotPlanned: "No fix is planned.",
  pendingUpstreamFix: "A fix by the upstream project is awaited.",
};

/** Returns the status set by one event, in terms common to all formats. */
export const eventStatus = (event: JsonObject): EventStatus => {
  const member =
    [
      "detection",
      "fixed",
      "falsePositiveDetermination",
      "analysisNotPlanned",
      "fixNotPlanned",
      "pendingUpstreamFix",
      "truePositiveDetermination",
      "patched",
    ].find((each) => event[each] !== undefined) ?? "";
  const data = part(event, member);
  const base: EventStatus = {
    status: "affected",
    fixedVersions: [],
    reason: "",
    action: actions[member] ?? "",
    note: text(data, "note"),
    time: text(event, "createTime"),
  };
  switch (member) {
    case "fixed":
      return { ...base, status: "fixed", fixedVersions: [text(data, "fixedVersion")].filter((version) => version !== "") };
    case "patched":
      return { ...base, status: "fixed", fixedVersions: texts(data, "patchedVersions") };
    case "falsePositiveDetermination":
      return { ...base, status: "not_affected", reason: text(data, "type") };
    case "detection":
    case "analysisNotPlanned":
      return { ...base, status: "under_investigation" };
    default:
      return base;
  }
};

const unknown: EventStatus = { status: "under_investigation", fixedVersions: [], reason: "", action: "", note: "", time: "" };

/** Returns false for a component move, which says nothing about versions. */
export const isStatement = (event: JsonObject): boolean => event.componentLocationChanged === undefined;

/** Returns the status of the last event that is not a component move. */
export const currentStatus = ({ approved }: Published): EventStatus => {
  const event = approved.findLast(isStatement);
  return event ? eventStatus(event) : unknown;
};

/** Describes the component moves, oldest first. */
export const componentMoves = ({ approved }: Published): string[] =>
  approved.flatMap((event) => {
    if (isStatement(event)) return [];
    const { previousLocation, newLocation, note } = part(event, "componentLocationChanged");
    const from = typeof previousLocation === "string" ? ` from ${previousLocation}` : "";
    return [`Component moved${from} to ${String(newLocation)}.${typeof note === "string" ? ` ${note}` : ""}`];
  });

/** Returns the CVE first, the advisory's ID last. */
export const vulnerabilityNumbers = ({ advisoryId, aliases }: AdvisoryRow): [string, ...string[]] => {
  const all = [...new Set([...aliases, advisoryId])];
  const first = all.find((number) => number.startsWith("CVE-")) ?? all[0] ?? advisoryId;
  return [first, ...all.filter((number) => number !== first)];
};

/** Returns an apk's distribution: the namespace, else the author if it is a distribution. */
export const distributionOf = ({ namespace, author }: Pick<AdvisoryRow, "namespace" | "author">): string => {
  const names = ["wolfi", "chainguard", "alpine"];
  return namespace !== "" ? namespace : (names.find((name) => author.toLowerCase().includes(name)) ?? "");
};

/** Returns the package URL of the artifact. */
export const purlOf = (row: AdvisoryRow, version = ""): string => {
  const { artifactName, artifactType, artifactArchitecture } = row;
  const steps = artifactType === "maven" ? artifactName.split(":") : artifactName.split("/");
  const distributed = ["apk", "deb", "rpm"].includes(artifactType) ? distributionOf(row) : "";
  const path = [...(distributed === "" ? [] : distributed.split("/")), ...steps].map(encodeURIComponent).join("/");
  const architecture = artifactArchitecture === "" ? "" : `?arch=${encodeURIComponent(artifactArchitecture)}`;
  return `pkg:${encodeURIComponent(artifactType || "generic")}/${path}${version === "" ? "" : `@${encodeURIComponent(version)}`}${architecture}`;
};

export const latestTime = (advisories: readonly AdvisoryRow[]): string =>
  advisories.reduce((time, { updateTime }) => (updateTime > time ? updateTime : time), "");

export const earliestTime = (advisories: readonly AdvisoryRow[]): string =>
  advisories.reduce((time, { createTime }) => (time === "" || createTime < time ? createTime : time), "");
