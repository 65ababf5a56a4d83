// Builds an OpenVEX 0.2.0 document from the advisories on one origin package. It has current statuses only, because a later
// statement on another version does not overrule a replaced fix. Moreover, grype applies the earliest matching statement, Trivy
// the latest. Pure.

import type { JsonObject } from "#base/json.ts";
import { componentMoves, currentStatus, earliestTime, type EventStatus, type Published, purlOf, vulnerabilityNumbers } from "./advisory.ts";
import { contradiction, type OwnPackage } from "./own-packages.ts";

/** By FalsePositiveDetermination.Type. A contested record has none. */
export const justifications: Readonly<Record<string, string>> = {
  TYPE_COMPONENT_VULNERABILITY_MISMATCH: "component_not_present",
  TYPE_VULNERABLE_CODE_VERSION_NOT_USED: "vulnerable_code_not_present",
  TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE: "vulnerable_code_not_present",
  TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH: "vulnerable_code_not_in_execute_path",
  TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY: "vulnerable_code_cannot_be_controlled_by_adversary",
  TYPE_INLINE_MITIGATIONS_EXIST: "inline_mitigations_already_exist",
};

const vexReason = ({ reason, note }: EventStatus): JsonObject => {
  const justification = justifications[reason];
  const impact = note || (justification === undefined ? "The record of the vulnerability is contested." : "");
  return { ...(justification === undefined ? {} : { justification }), ...(impact === "" ? {} : { impact_statement: impact }) };
};

const vexStatement = (advisory: Published, stated: EventStatus): JsonObject => {
  const [name, ...aliases] = vulnerabilityNumbers(advisory);
  const notes = [...(stated.status === "not_affected" ? [] : [stated.note]), ...componentMoves(advisory)].filter((note) => note !== "").join(" ");
  const products = stated.fixedVersions.length > 0 ? stated.fixedVersions.map((version) => purlOf(advisory, version)) : [purlOf(advisory)];
  return {
    vulnerability: { name, ...(aliases.length > 0 ? { aliases } : {}) },
    timestamp: stated.time,
    products: products.map((purl) => ({ "@id": purl, identifiers: { purl } })),
    status: stated.status,
    ...(stated.status === "not_affected" ? vexReason(stated) : {}),
    ...(stated.status === "affected" ? { action_statement: stated.action } : {}),
    ...(notes === "" ? {} : { status_notes: notes }),
  };
};

export const whyNoOpenVex = (advisory: Published, { contradicted }: OwnPackage): string | undefined => {
  if (contradicted.has(advisory)) return contradiction;
  if (advisory.approved.length === 0) return "no part of it is approved";
  const { status, fixedVersions } = currentStatus(advisory);
  return status === "fixed" && fixedVersions.length === 0 ? "it names no fixed version, and OpenVEX would declare every version fixed" : undefined;
};

/**
 * Returns undefined if no statement is left. The version is the time of the last change in seconds (32 bits, until 2038), because
 * a count of events would decrease with a withdrawal. Private documents have their own IDs and versions.
 */
export const openVexDocument = (address: string, found: OwnPackage): JsonObject | undefined => {
  const { advisories, changeTime, scope } = found;
  const [first] = advisories;
  const said = advisories
    .filter((advisory) => whyNoOpenVex(advisory, found) === undefined)
    .map((advisory) => ({ advisory, stated: currentStatus(advisory) }))
    .sort((one, other) => (one.stated.time < other.stated.time ? -1 : one.stated.time > other.stated.time ? 1 : 0));
  if (said.length === 0) return undefined;
  return {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": scope === "" ? address : `${address}#${scope}`,
    author: first.author,
    timestamp: earliestTime(advisories),
    last_updated: changeTime,
    version: Math.floor(Date.parse(changeTime) / 1000),
    statements: said.map(({ advisory, stated }) => vexStatement(advisory, stated)),
  };
};
