// The OpenAPI documents as the server gives them.

import assert from "node:assert/strict";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";

/** One operation as a reader of the document sees it. */
export interface Operation {
  readonly id: string;
  /** "GET" */
  readonly verb: string;
  /** "/iam/v2/groups/{uid}" */
  readonly path: string;
  readonly described: JsonObject;
}

const verbs = ["get", "post", "put", "patch", "delete"];

export const fetchDocument = async (url: string, path: string): Promise<JsonObject> => {
  const response = await fetch(`${url}${path}`);
  assert.equal(response.status, 200, path);
  const document = (await response.json()) as Json;
  assert.ok(isObject(document), path);
  return document;
};

/** Every operation, in the document's order. */
export const operationsOf = (document: JsonObject): Operation[] =>
  Object.entries(part(document, "paths")).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const described = isObject(item) ? part(item, verb) : {};
      return text(described, "operationId") === "" ? [] : [{ id: text(described, "operationId"), verb: verb.toUpperCase(), path, described }];
    }),
  );
