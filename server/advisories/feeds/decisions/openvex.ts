// Writes decisions about findings as OpenVEX 0.2.0. Pure.

import type { JsonObject } from "#base/json.ts";
import type { DecisionStatement, WriteDecisions } from "./statements.ts";

/** The schema allows an impact statement only without a justification. */
const saysOf = ({ status, justification, reason }: DecisionStatement): JsonObject =>
  status === "affected" ? { action_statement: reason } : { ...(status === "not_affected" ? { justification } : {}), status_notes: reason };

const vexStatement = (statement: DecisionStatement): JsonObject => {
  const { name, aliases, time, status, images } = statement;
  return {
    vulnerability: { name, ...(aliases.length > 0 ? { aliases: [...aliases] } : {}) },
    timestamp: time,
    products: images.map(({ purl, shortPurl, packages }) => ({
      "@id": shortPurl,
      identifiers: { purl },
      subcomponents: packages.map((each) => ({ "@id": each, identifiers: { purl: each } })),
    })),
    status,
    ...saysOf(statement),
  };
};

export const openVexOfDecisions: WriteDecisions = ({ author, address, id, time, statements }) => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": `${address}#${id}`,
  author,
  timestamp: time,
  version: 1,
  statements: statements.map(vexStatement),
});
