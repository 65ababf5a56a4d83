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

const breaches: readonly (readonly [string, (document: JsonObject) => void])[] = [
  ["an operation is gone", (document) => delete at(document, "paths")["/gantry/v1/memberships"]],
  ["a parameter is gone", (document) => (at(document, ...list).parameters as Json[]).shift()],
  ["a parameter is required now", (document) => void (at(document, ...list, "parameters", "0").required = true)],
  ["an answer's field is gone", (document) => delete at(document, ...membership, "properties")[firstField]],
  ["an answer's field has another type", (document) => void (at(document, ...membership, "properties", firstField).type = "integer")],
  ["an answer no longer always has a field", (document) => (at(document, "components", "schemas", "ListMembershipsResponse").required as Json[]).pop()],
  ["an answer is gone", (document) => delete at(document, ...list, "responses")["200"]],
];

for (const [what, plant] of breaches) {
  test(`a planted breaking change is found: ${what}`, () => {
    const after = read();
    plant(after);
    assert.notDeepEqual(brokenPromises(read(), after), []);
  });
}

test("additions break nothing: an operation, a response field, a parameter, a description", () => {
  const after = read();
  at(after, "paths")["/gantry/v1/new"] = structuredClone(at(after, "paths", "/gantry/v1/memberships"));
  at(after, "paths", "/gantry/v1/new", "get").operationId = "New_Operation";
  at(after, ...membership, "properties").more = { type: "string" };
  (at(after, ...list).parameters as Json[]).push({ name: "more", in: "query", schema: { type: "string" } });
  at(after, ...list).description = "In other words.";
  assert.deepEqual(brokenPromises(read(), read()), []);
  assert.deepEqual(brokenPromises(read(), after), []);
});

test("a list may be ordered by further fields, and by no fewer", () => {
  const read = (change: (pattern: string) => string): JsonObject => {
    const document = JSON.parse(readFileSync("contract/gen/openapi/decisions.json", "utf8")) as JsonObject;
    const parameters = at(document, "paths", "/gantry/v1/findingDecisions", "get").parameters as JsonObject[];
    const schema = at(parameters.find(({ name }) => name === "order_by") ?? {}, "schema");
    schema.pattern = change(String(schema.pattern));
    return document;
  };
  const landed = read((pattern) => pattern);
  const [more, fewer] = [read((pattern) => pattern.replace("uid|", "uid|more|")), read((pattern) => pattern.replace("uid|", ""))];
  assert.deepEqual(brokenPromises(landed, more), []);
  assert.notDeepEqual(brokenPromises(landed, fewer), []);
});
