// The served OpenAPI documents, and a validator that uses only a document: it checks requests, and responses without undocumented content.

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";

/** An operation of the document. */
export interface Operation {
  readonly id: string;
  /** "GET" */
  readonly verb: string;
  /** "/iam/v2/groups/{uid}" */
  readonly path: string;
  readonly described: JsonObject;
}

/** A request in the document's terms. */
export interface DescribedRequest {
  readonly operation: Operation;
  readonly inPath: Readonly<Record<string, string>>;
  readonly inQuery: readonly (readonly [string, string])[];
  /** Undefined if there is none. */
  readonly body: Json | undefined;
}

const verbs = ["get", "post", "put", "patch", "delete"];

export const fetchDocument = async (url: string, path: string): Promise<JsonObject> => {
  const response = await fetch(`${url}${path}`);
  assert.equal(response.status, 200, path);
  const document = (await response.json()) as Json;
  assert.ok(isObject(document), path);
  return document;
};

/** Returns every operation in the document's order. */
export const operationsOf = (document: JsonObject): Operation[] =>
  Object.entries(part(document, "paths")).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const described = isObject(item) ? part(item, verb) : {};
      return text(described, "operationId") === "" ? [] : [{ id: text(described, "operationId"), verb: verb.toUpperCase(), path, described }];
    }),
  );

/** Resolves "#/components/parameters/IfMatch"; returns other values unchanged. */
const resolved = (document: JsonObject, value: JsonObject): JsonObject => {
  const reference = text(value, "$ref");
  if (reference === "") return value;
  let found: Json | undefined = document;
  for (const key of reference.slice(2).split("/")) found = isObject(found) ? found[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  assert.ok(isObject(found), `${reference} names nothing`);
  return found;
};

const typed = (document: JsonObject, schema: JsonObject, value: string): Json => {
  const { type } = resolved(document, schema);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return (type === "integer" || type === "number") && /^-?[0-9.]+$/.test(value) ? Number(value) : value;
};

/** Converts "pageSize" to "page_size": the server accepts both, and the document has one. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Forbids additional properties of responses, which the document leaves open for later versions. */
const closed = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(closed);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, entry]): [string, Json] => [key, key === "example" || key === "examples" ? entry : closed(entry)]),
  );
  return value.type === "object" && isObject(value.properties) && value.additionalProperties === undefined ? { ...inner, additionalProperties: false } : inner;
};

export interface Judge {
  readonly operations: readonly Operation[];
  /** Converts the request to the document's terms; throws if it has something undocumented. */
  readonly describe: (verb: string, target: string, body: string | undefined) => DescribedRequest;
  /** Returns the document's objections to the request. */
  readonly judgeRequest: (request: DescribedRequest) => string[];
  /** Returns the undocumented parts of the response. */
  readonly judgeAnswer: (operation: Operation, answer: { readonly status: number; readonly headers: Headers; readonly raw: string }) => string[];
}

/** Headers of HTTP itself, and those described for every response. */
const plainHeaders = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
  "cache-control",
  "x-content-type-options",
  "vary",
  "last-modified",
  "x-request-id",
]);

export const judgeOf = (document: JsonObject): Judge => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv, { mode: "full" });
  ajv.addSchema(closed(document) as JsonObject, "document");
  const compiled = new Map<string, ValidateFunction>();
  const problemsAt = (pointer: readonly string[], value: Json, what: string): string[] => {
    const reference = `document#/${pointer.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;
    let validate = compiled.get(reference);
    if (!validate) {
      validate = ajv.compile({ $ref: reference });
      compiled.set(reference, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => `${what}${instancePath} ${message} ${JSON.stringify(params)}`);
  };

  const operations = operationsOf(document);
  const routes = operations.map((operation) => {
    const names = [...operation.path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
    const parts = operation.path.split(/\{[^{}]*\}/).map((literal) => literal.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return { operation, names, form: new RegExp(`^${parts.join("(.+?)")}$`), literals: parts.join("").length };
  });

  const parametersOf = (operation: Operation): { readonly parameter: JsonObject; readonly pointer: readonly string[] }[] =>
    objectList(operation.described, "parameters").map((parameter, index) => {
      const reference = text(parameter, "$ref");
      const pointer = reference === "" ? ["paths", operation.path, operation.verb.toLowerCase(), "parameters", String(index)] : reference.slice(2).split("/");
      return { parameter: resolved(document, parameter), pointer: [...pointer, "schema"] };
    });

  const describe: Judge["describe"] = (verb, target, body) => {
    const { pathname, searchParams } = new URL(target, "http://localhost");
    // The most specific operation: "…/readme" before "…".
    const [route] = routes.filter(({ operation, form }) => operation.verb === verb && form.test(pathname)).sort((one, other) => other.literals - one.literals);
    assert.ok(route, `no operation of the document is ${verb} ${pathname}`);
    const values = (route.form.exec(pathname) ?? []).slice(1);
    const known = new Map(
      parametersOf(route.operation).flatMap(({ parameter }) =>
        parameter.in === "query" ? [[snakeCase(text(parameter, "name")), text(parameter, "name")]] : [],
      ),
    );
    const isForm = isObject(part(part(route.operation.described, "requestBody"), "content")["application/x-www-form-urlencoded"]);
    const inQuery = [...searchParams].map(([name, value]): [string, string] => [
      isForm ? name : (known.get(snakeCase(name)) ?? assert.fail(`${route.operation.id} has no parameter ${name}`)),
      value,
    ]);
    const inPath = Object.fromEntries(route.names.map((name, index) => [name, decodeURIComponent(values[index] ?? "")]));
    return { operation: route.operation, inPath, inQuery, body: body === undefined ? undefined : (JSON.parse(body) as Json) };
  };

  const judgeRequest: Judge["judgeRequest"] = ({ operation, inPath, inQuery, body }) => {
    const problems: string[] = [];
    for (const { parameter, pointer } of parametersOf(operation)) {
      const name = text(parameter, "name");
      const schema = part(parameter, "schema");
      if (parameter.in === "path") problems.push(...problemsAt(pointer, inPath[name] ?? "", name));
      if (parameter.in !== "query") continue;
      const given = inQuery.flatMap(([key, value]) => (key === name ? [value] : []));
      if (given.length === 0) {
        if (parameter.required === true) problems.push(`${name} is required`);
        continue;
      }
      const items = part(schema, "items");
      problems.push(
        ...problemsAt(pointer, schema.type === "array" ? given.map((each) => typed(document, items, each)) : typed(document, schema, given[0] ?? ""), name),
      );
    }
    const { described, path, verb } = operation;
    if (body !== undefined) {
      const [media = "application/json"] = Object.keys(part(part(described, "requestBody"), "content"));
      const pointer = ["paths", path, verb.toLowerCase(), "requestBody", "content", media, "schema"];
      problems.push(
        ...(isObject(part(described, "requestBody")) && described.requestBody !== undefined ? problemsAt(pointer, body, "body") : ["it takes no body"]),
      );
    } else if (part(described, "requestBody").required === true) problems.push("its body is required");
    return problems;
  };

  const judgeAnswer: Judge["judgeAnswer"] = ({ described, path, verb }, { status, headers, raw }) => {
    const responses = part(described, "responses");
    const found = responses[String(status)];
    if (!isObject(found)) return [`the status ${status} is not described`];
    const reference = text(found, "$ref");
    const response = resolved(document, found);
    const at = reference === "" ? ["paths", path, verb.toLowerCase(), "responses", String(status)] : reference.slice(2).split("/");
    const content = part(response, "content");
    const named = new Set(Object.keys(part(response, "headers")).map((name) => name.toLowerCase()));
    const problems = [...headers.keys()].filter((name) => !plainHeaders.has(name) && !named.has(name)).map((name) => `the header ${name} is not described`);
    const type = (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    if (Object.keys(content).length === 0) return raw === "" ? problems : [...problems, "it has a body, and none is described"];
    const media = content[type];
    if (!isObject(media)) return [...problems, `the type ${type} is not described`];
    if (type !== "application/json" || media.schema === undefined) return problems;
    return [...problems, ...problemsAt([...at, "content", type, "schema"], JSON.parse(raw) as Json, "answer")];
  };

  return { operations, describe, judgeRequest, judgeAnswer };
};

/** Sends a request by the document's own description. */
export const sendDescribed = async (
  url: string,
  { operation, inPath, inQuery, body }: DescribedRequest,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly headers: Headers; readonly raw: string }> => {
  const path = operation.path.replace(/\{([^{}]*)\}/g, (_, name: string) => encodeURIComponent(inPath[name] ?? ""));
  const form = isObject(part(part(operation.described, "requestBody"), "content")["application/x-www-form-urlencoded"]);
  const query = new URLSearchParams(inQuery.map(([name, value]): [string, string] => [name, value])).toString();
  const sent = body !== undefined ? JSON.stringify(body) : form ? query : undefined;
  const response = await fetch(`${url}${path}${query === "" || form ? "" : `?${query}`}`, {
    method: operation.verb,
    redirect: "manual",
    headers: { ...(sent === undefined ? {} : { "content-type": form ? "application/x-www-form-urlencoded" : "application/json" }), ...headers },
    ...(sent === undefined ? {} : { body: sent }),
  });
  return { status: response.status, headers: response.headers, raw: await response.text() };
};
