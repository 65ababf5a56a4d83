// The advisories on one origin package as an OpenVEX document (0.2.0): of each what holds now, in one statement. What held
// before is not repeated. A statement about a version is overruled by no later one about another version, so that a fix which
// was replaced would go on to be one; and grype takes the earliest statement that fits, Trivy the latest. Pure.

import type { JsonObject } from "#base/json.ts";
import { componentMoves, currentStatus, earliestTime, type EventStatus, type Published, purlOf, vulnerabilityNumbers } from "./advisory.ts";
import { contradiction, type OwnPackage } from "./own-packages.ts";

/** FalsePositiveDetermination.Type as OpenVEX justifies it; a contested record has no justification there. */
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

/** Why OpenVEX does not say what this advisory does; undefined where it does. */
export const whyNoOpenVex = (advisory: Published, { contradicted }: OwnPackage): string | undefined => {
  if (contradicted.has(advisory)) return contradiction;
  if (advisory.approved.length === 0) return "no part of it is approved";
  const { status, fixedVersions } = currentStatus(advisory);
  return status === "fixed" && fixedVersions.length === 0 ? "it names no fixed version, and OpenVEX would declare every version fixed" : undefined;
};

/**
 * Its version is the time of the last change in seconds, which a number of 32 bits holds until 2038: a count of events would
 * go back with a withdrawal. What some alone see has a number of its own, and so versions of its own. Undefined where no
 * statement is left.
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
