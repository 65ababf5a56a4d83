// Builds the HTTP request of a message by the operation's google.api.http rule.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { ApiError } from "./error.ts";
import type { FieldShape, MessageShape, OperationShape } from "./operation.ts";

export interface RestRequest {
  readonly verb: string;
  /** With the query. */
  readonly path: string;
  readonly body: string | undefined;
}

/** Returns the key under which the request has this field, in camelCase or snake_case. */
const givenKey = (message: MessageShape, object: JsonObject, field: FieldShape): string =>
  Object.keys(object).find((key) => message.byName.get(key) === field) ?? field.json;

const noFields: MessageShape = { fields: [], byName: new Map() };

interface Taken {
  readonly value: Json | undefined;
  /** The request without it. */
  readonly rest: JsonObject;
}

const jsonPathOf = (input: MessageShape, dotted: string): string => {
  const out: string[] = [];
  let message: MessageShape | undefined = input;
  for (const name of dotted.split(".")) {
    const field: FieldShape | undefined = message?.byName.get(name);
    out.push(field?.json ?? name);
    message = field?.message;
  }
  return out.join(".");
};

const takeField = (message: MessageShape, object: JsonObject, path: string): Taken => {
  const [first = "", ...further] = path.split(".");
  const field = message.byName.get(first);
  const key = field ? givenKey(message, object, field) : first;
  const { [key]: held, ...others } = object;
  if (further.length === 0) return { value: held, rest: others };
  const inner = takeField(field?.message ?? noFields, isObject(held) ? held : {}, further.join("."));
  return { value: inner.value, rest: Object.keys(inner.rest).length > 0 ? { ...others, [key]: inner.rest } : others };
};

const invalidField = (field: string, description: string): ApiError =>
  new ApiError("INVALID_ARGUMENT", `Invalid argument: ${field}: ${description}`, {
    details: [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field, description }] }],
  });

/**
 * Encodes a field for the path. URL parsers treat segments of dots as steps, even percent-encoded, and Get without a uid becomes
 * List: both would call another operation. Only create accepts an empty parent.
 */
const pathSegments = (field: string, value: string, { isDeep, mayBeEmpty }: { readonly isDeep: boolean; readonly mayBeEmpty: boolean }): string => {
  if (value === "" && !mayBeEmpty) throw invalidField(field, "is required");
  const segments = isDeep ? value.split("/") : [value];
  if (segments.some((segment) => segment === "." || segment === "..") || !value.isWellFormed()) throw invalidField(field, "cannot be part of a path");
  return segments.map(encodeURIComponent).join("/");
};

const queryPairs = (value: JsonObject, prefix = ""): [string, string][] =>
  Object.entries(value).flatMap(([key, held]): [string, string][] => {
    const name = prefix ? `${prefix}.${key}` : key;
    if (held === null || held === undefined) return [];
    if (Array.isArray(held)) return held.map((entry) => [name, isObject(entry) ? JSON.stringify(entry) : String(entry)]);
    return isObject(held) ? queryPairs(held, name) : [[name, String(held)]];
  });

/** Throws UNIMPLEMENTED for an operation without a path, INVALID_ARGUMENT for a value that a path cannot have. */
export const restRequest = (method: OperationShape, request: JsonObject, validateOnly: boolean): RestRequest => {
  const [http] = method.http;
  if (!http) throw new ApiError("UNIMPLEMENTED", `${method.name} has no REST path: it uses another protocol`);
  let rest = request;
  const path = http.template.replace(/\{([^{}=]+)(=\*\*?)?\}/g, (_, name: string, form: string | undefined) => {
    const taken = takeField(method.input, rest, name);
    rest = taken.rest;
    return pathSegments(jsonPathOf(method.input, name), String(taken.value ?? ""), {
      isDeep: form === "=**",
      mayBeEmpty: http.verb === "POST" && http.template.endsWith("=**}"),
    });
  });
  let body: string | undefined;
  if (http.body === "*") {
    body = JSON.stringify(rest);
    rest = {};
  } else if (http.body !== "") {
    const field = method.input.byName.get(http.body);
    const taken = takeField(method.input, rest, http.body);
    body = JSON.stringify(taken.value ?? (field?.shape === "list" ? [] : {}));
    rest = taken.rest;
  }
  const parameters = new URLSearchParams(queryPairs(rest));
  if (validateOnly) parameters.set("validateOnly", "true");
  const query = parameters.toString();
  return { verb: http.verb, path: query === "" ? path : `${path}?${query}`, body };
};
