// The rules of OpenVEX 0.2.0 for our documents, stricter where readers differ: any reader finds the same statement.

import assert from "node:assert/strict";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";

export const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const justifications = [
  "component_not_present",
  "vulnerable_code_not_present",
  "vulnerable_code_not_in_execute_path",
  "vulnerable_code_cannot_be_controlled_by_adversary",
  "inline_mitigations_already_exist",
];
/** Required and allowed members of each status; go-vex refuses any other. */
const members: Readonly<Record<string, { readonly needs: readonly string[]; readonly may: readonly string[] }>> = {
  not_affected: { needs: ["justification", "impact_statement"], may: ["justification", "impact_statement"] },
  affected: { needs: ["action_statement"], may: ["action_statement", "status_notes"] },
  fixed: { needs: [], may: ["status_notes"] },
  under_investigation: { needs: [], may: ["status_notes"] },
};

const checkStatement = (statement: JsonObject): void => {
  const rule = members[text(statement, "status")];
  assert(rule, JSON.stringify(statement));
  assert(rule.needs.length === 0 || rule.needs.some((key) => text(statement, key) !== ""), JSON.stringify(statement));
  for (const key of Object.keys(statement)) assert(["vulnerability", "timestamp", "products", "status", ...rule.may].includes(key), key);
  if (statement.justification !== undefined) assert(justifications.includes(text(statement, "justification")));
  assert.match(text(statement, "timestamp"), timeForm);
  assert.notEqual(text(part(statement, "vulnerability"), "name"), "");
  assert(objectList(statement, "products").length > 0);
  for (const product of objectList(statement, "products")) {
    assert.match(text(product, "@id"), /^pkg:[a-z]+\/[^\s]+$/);
    assert.equal(text(part(product, "identifiers"), "purl"), text(product, "@id"));
  }
};

/** Validates our document published at this address; throws if it breaks a rule. */
export const checkDocument = (publicUrl: string, document: JsonObject): void => {
  assert.deepEqual(Object.keys(document).sort(), ["@context", "@id", "author", "last_updated", "statements", "timestamp", "version"]);
  assert.equal(document["@context"], "https://openvex.dev/ns/v0.2.0");
  assert(text(document, "@id").startsWith(`${publicUrl}/`));
  for (const key of ["timestamp", "last_updated"]) assert.match(text(document, key), timeForm);
  assert(Number.isInteger(document.version) && Number(document.version) >= 1 && Number(document.version) < 2 ** 31);
  const statements = objectList(document, "statements");
  assert(statements.length > 0);
  statements.forEach(checkStatement);
  // Readers use the first or the last matching statement, so there may be only one.
  const about = statements.flatMap((statement) => {
    const vulnerability = part(statement, "vulnerability");
    const names = [text(vulnerability, "name"), ...texts(vulnerability, "aliases")];
    const products = new Set(objectList(statement, "products").map((product) => text(product, "@id").replace(/@.*/, "")));
    return [...products].flatMap((product) => names.map((name) => `${name} ${product}`));
  });
  assert.equal(new Set(about).size, about.length);
};
