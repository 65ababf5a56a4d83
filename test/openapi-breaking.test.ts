// Breaking changes of OpenAPI documents are found (tools/openapi-breaking.ts); each kind is planted once.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { brokenPromises } from "../tools/openapi-breaking.ts";

const read = (): JsonObject => JSON.parse(readFileSync("contract/gen/openapi/memberships.json", "utf8")) as JsonObject;

const at = (document: JsonObject, ...keys: readonly string[]): JsonObject => {
  let found: Json | undefined = document;
  for (const key of keys) found = Array.isArray(found) ? found[Number(key)] : isObject(found) ? found[key] : undefined;
  assert.ok(typeof found === "object" && found !== null, keys.join("/"));
  return found as JsonObject;
};

const list = ["paths", "/gantry/v1/memberships", "get"];
const membership = ["components", "schemas", "Membership"];

const [firstField = ""] = Object.keys(at(read(), ...membership, "properties"));

/** Changes the fields that a list can be ordered by. */
const reorder = (document: JsonObject, change: (pattern: string) => string): void => {
  const parameter = (at(document, ...list).parameters as JsonObject[]).find(({ name }) => name === "orderBy");
  const schema = at(parameter ?? {}, "schema");
  schema.pattern = change(String(schema.pattern));
};

const breaches: readonly (readonly [string, (document: JsonObject) => void])[] = [
  ["an operation is gone", (document) => delete at(document, "paths")["/gantry/v1/memberships"]],
  ["a parameter is gone", (document) => (at(document, ...list).parameters as Json[]).shift()],
  ["a parameter is required now", (document) => void (at(document, ...list, "parameters", "0").required = true)],
  ["an answer's field is gone", (document) => delete at(document, ...membership, "properties")[firstField]],
  ["an answer's field has another type", (document) => void (at(document, ...membership, "properties", firstField).type = "integer")],
  ["an answer no longer always has a field", (document) => (at(document, "components", "schemas", "ListMembershipsResponse").required as Json[]).pop()],
  ["a list can no longer be ordered by a field", (document) => reorder(document, (pattern) => pattern.replace("uid|", ""))],
  ["an answer is gone", (document) => delete at(document, ...list, "responses")["200"]],
];

for (const [what, plant] of breaches) {
  test(`a planted breaking change is found: ${what}`, () => {
    const after = read();
    plant(after);
    assert.notDeepEqual(brokenPromises(read(), after), []);
  });
}

test("additions break nothing: an operation, a response field, a parameter, a field to order by, a description", () => {
  const after = read();
  at(after, "paths")["/gantry/v1/new"] = structuredClone(at(after, "paths", "/gantry/v1/memberships"));
  at(after, "paths", "/gantry/v1/new", "get").operationId = "New_Operation";
  at(after, ...membership, "properties").more = { type: "string" };
  (at(after, ...list).parameters as Json[]).push({ name: "more", in: "query", schema: { type: "string" } });
  reorder(after, (pattern) => pattern.replace("uid|", "uid|more|"));
  at(after, ...list).description = "In other words.";
  assert.deepEqual(brokenPromises(read(), read()), []);
  assert.deepEqual(brokenPromises(read(), after), []);
});
