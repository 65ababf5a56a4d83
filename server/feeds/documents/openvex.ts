// The advisories on one origin package as an OpenVEX document (0.2.0): a statement for each event, so that the later
// overrules the earlier as it does in OpenVEX. Pure.

import type { JsonObject } from "#base/json.ts";
import { earliestTime, latestTime, vulnerabilityNumbers, type Published, purlOf, eventStatus, type EventStatus } from "./advisory.ts";

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

const vexStatement = (advisory: Published, event: JsonObject): JsonObject => {
  const stated = eventStatus(event);
  const [name, ...aliases] = vulnerabilityNumbers(advisory);
  const products = stated.fixedVersions.length > 0 ? stated.fixedVersions.map((version) => purlOf(advisory, version)) : [purlOf(advisory)];
  return {
    vulnerability: { name, ...(aliases.length > 0 ? { aliases } : {}) },
    timestamp: stated.time,
    products: products.map((purl) => ({ "@id": purl, identifiers: { purl } })),
    status: stated.status,
    ...(stated.status === "not_affected" ? vexReason(stated) : {}),
    ...(stated.status === "affected" ? { action_statement: stated.action } : {}),
    ...(stated.note !== "" && stated.status !== "not_affected" ? { status_notes: stated.note } : {}),
  };
};

export const openVexDocument = (address: string, advisories: readonly [Published, ...Published[]]): JsonObject => {
  const [first] = advisories;
  const events = advisories.flatMap((advisory) => advisory.approved.map((event) => ({ advisory, event, time: eventStatus(event).time })));
  events.sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
  return {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": address,
    author: first.author,
    timestamp: earliestTime(advisories),
    last_updated: latestTime(advisories),
    // It must grow with the content: events are only ever added.
    version: Math.max(1, events.length),
    statements: events.map(({ advisory, event }) => vexStatement(advisory, event)),
  };
};
