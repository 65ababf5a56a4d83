// Converts received requests to JSON values. Unreadable values become problems that name their field; nothing is thrown, so that
// the kernel can authorize the caller first.
//
// decisions: JSON. Accepts camelCase and snake_case; refuses unknown names. Keys such as "__proto__" are map keys or unknown
// fields, never properties.

import type { Message } from "@bufbuild/protobuf";
import type { Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { findRepeatedKey } from "#base/json-keys.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { FieldFact, HttpFact, Kind, MessageFact, MethodFact } from "./facts.ts";

export interface Reading {
  readonly request: JsonObject;
  /** At most as many as a response lists. */
  readonly problems: Violation[];
  readonly bodyPaths: string[] | undefined;
}

/** Problems name fields by JSON name in a body, and by proto name elsewhere (order_by, page_token). */
type Naming = "json" | "name";

interface Reader {
  readonly problems: Violation[];
  readonly naming: Naming;
  /** True for query parameters and path fields, which are text. */
  readonly texts: boolean;
}

const addProblem = (problems: Violation[], field: string, description: string): void => {
  if (problems.length < limits.violationsMax) problems.push({ field, description });
};

const joinPath = (prefix: string, name: string): string => (prefix ? `${prefix}.${name}` : name);

/** PostgreSQL and UTF-8 allow no lone surrogate and no NUL. */
const textProblem = (value: string): string | undefined => {
  if (!value.isWellFormed()) return "must be valid Unicode text";
  if (value.includes("\0")) return "must not contain the NUL character";
  return undefined;
};

/** A mask is one text, so its paths were not counted as list elements. */
const maskProblem = (value: string): string | undefined =>
  value.length > limits.messageValuesMax && value.split(",", limits.messageValuesMax + 1).length > limits.messageValuesMax
    ? `must name at most ${limits.messageValuesMax} fields`
    : undefined;

const readInteger = (value: Json, least: bigint, most: bigint): bigint | undefined => {
  let parsed: bigint;
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) return undefined;
    parsed = BigInt(value);
  } else if (typeof value === "string" && /^-?(?:0|[1-9]\d{0,18})$/.test(value)) parsed = BigInt(value);
  else return undefined;
  return parsed >= least && parsed <= most ? parsed : undefined;
};

const base64Of = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

/** Normalizes RFC 3339 to three decimals; protobuf JSON allows up to nine. */
const normalTimestamp = (value: string): string | undefined => {
  const milliseconds = /\.\d{10}/.test(value) ? undefined : readTimestamp(value);
  return milliseconds === undefined ? undefined : timestamp(milliseconds);
};

const decimal = /^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,25})?(?:[eE][+-]?\d{1,3})?$/;

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

const readEnum = (field: FieldFact, value: Json): string | undefined => {
  const numeric = typeof value === "number" ? value : typeof value === "string" && /^\d+$/.test(value) ? Number(value) : undefined;
  if (numeric !== undefined) return field.enum?.names.get(numeric);
  return typeof value === "string" && field.enum?.numbers.has(value) ? value : undefined;
};

const expected: Readonly<Record<Kind, string>> = {
  string: "must be a string",
  bool: "must be true or false",
  int32: "must be a whole number of 32 bits",
  int64: "must be a whole number of 64 bits",
  double: "must be a number",
  bytes: "must be base64 text",
  enum: "is not a known value",
  message: "must be an object",
  timestamp: 'must be a time such as "2026-01-31T08:00:00.000Z"',
  duration: 'must be a duration in seconds such as "3600s"',
  mask: "must be field paths separated by commas",
  any: "must be an object with @type",
};

/** Ten thousand years, the range of google.protobuf.Duration. */
const durationSecondsMax = 315_576_000_000;

/** Returns a value of the field's kind, or undefined with a problem. */
const readOne = (reader: Reader, field: FieldFact, value: Json, at: string): Json | undefined => {
  const refuse = (description: string = expected[field.kind]): undefined => {
    addProblem(reader.problems, at, description);
    return undefined;
  };
  switch (field.kind) {
    case "string":
    case "mask": {
      if (typeof value !== "string") return refuse();
      const problem = textProblem(value) ?? (field.kind === "mask" ? maskProblem(value) : undefined);
      return problem ? refuse(problem) : value;
    }
    case "bool":
      if (typeof value === "boolean") return value;
      return reader.texts && (value === "true" || value === "false") ? value === "true" : refuse();
    case "int32": {
      const number = readInteger(value, -2147483648n, 2147483647n);
      return number === undefined ? refuse() : Number(number);
    }
    case "int64": {
      const number = readInteger(value, -9223372036854775808n, 9223372036854775807n);
      return number === undefined ? refuse() : number.toString();
    }
    case "double":
      if (typeof value === "number") return value;
      return reader.texts && typeof value === "string" && decimal.test(value) && Number.isFinite(Number(value)) ? Number(value) : refuse();
    case "bytes":
      if (typeof value !== "string" || !base64.test(value)) return refuse();
      return value.replaceAll("-", "+").replaceAll("_", "/");
    case "enum": {
      const name = readEnum(field, value);
      return name ?? refuse(`is not a known value of ${field.enum?.name ?? "its enum"}`);
    }
    case "timestamp":
      return (typeof value === "string" ? normalTimestamp(value) : undefined) ?? refuse();
    case "duration":
      return typeof value === "string" && /^-?\d{1,12}(?:\.\d{1,9})?s$/.test(value) && Math.abs(Number.parseFloat(value)) <= durationSecondsMax
        ? value
        : refuse();
    case "message":
      if (!isObject(value) || !field.message) return refuse();
      return readObject(reader, field.message, value, at);
    case "any":
      return isObject(value) ? value : refuse();
  }
};

const readField = (reader: Reader, field: FieldFact, value: Json, at: string): Json | undefined => {
  if (field.shape === "one") return readOne(reader, field, value, at);
  if (field.shape === "list") {
    if (!Array.isArray(value)) {
      addProblem(reader.problems, at, "must be a list");
      return undefined;
    }
    return value.map((entry, index) => readOne(reader, field, entry, `${at}[${index}]`) ?? null);
  }
  if (!isObject(value)) {
    addProblem(reader.problems, at, "must be an object");
    return undefined;
  }
  // fromEntries defines own properties, so "__proto__" is an ordinary key.
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const problem = field.keyKind === "int64" && readInteger(key, -(2n ** 63n), 2n ** 63n - 1n) === undefined ? expected.int64 : textProblem(key);
      if (problem) addProblem(reader.problems, `${at}[${JSON.stringify(key)}]`, `key ${problem}`);
      return [key, readOne(reader, field, entry, `${at}[${JSON.stringify(key)}]`) ?? null];
    }),
  );
};

/** Returns the member of the same oneof that `object` already has. */
const oneofRival = (message: MessageFact, object: JsonObject, field: FieldFact): FieldFact | undefined =>
  field.oneof === undefined || field.presence
    ? undefined
    : message.fields.find((other) => other !== field && other.oneof === field.oneof && object[other.json] !== undefined);

const assignField = (reader: Reader, message: MessageFact, object: JsonObject, field: FieldFact, value: Json, prefix: string): void => {
  const at = joinPath(prefix, field[reader.naming]);
  const other = oneofRival(message, object, field);
  if (other) addProblem(reader.problems, at, `only one of ${other[reader.naming]} and ${field[reader.naming]} can be given`);
  const read = readField(reader, field, value, at);
  if (read !== undefined) object[field.json] = read;
};

const readObject = (reader: Reader, message: MessageFact, json: JsonObject, prefix: string): JsonObject => {
  const object: JsonObject = {};
  const given = new Set<FieldFact>();
  for (const [key, value] of Object.entries(json)) {
    const field = message.byName.get(key);
    if (!field) addProblem(reader.problems, joinPath(prefix, key), "unknown field");
    // Given in two spellings; base/json-keys.ts refuses a repeated key.
    else if (given.has(field)) addProblem(reader.problems, joinPath(prefix, key), "given twice");
    else {
      given.add(field);
      // AIP and proto JSON: null means absent.
      if (value !== null) assignField(reader, message, object, field, value, prefix);
    }
  }
  return object;
};

/** Returns the keys of the body as paths in JSON names; unknown keys are already reported. */
export const bodyPathsOf = (message: MessageFact, json: JsonObject, prefix = ""): string[] =>
  Object.entries(json).flatMap(([key, value]) => {
    const field = message.byName.get(key);
    if (!field) return [];
    const at = joinPath(prefix, field.json);
    if (field.shape !== "one" || !field.message || !isObject(value)) return [at];
    const inner = bodyPathsOf(field.message, value, at);
    return inner.length > 0 ? inner : [at];
  });

/** Finds a dotted name ("uidp.descendants_of") and the object that contains its last part. */
const locate = (
  message: MessageFact,
  object: JsonObject,
  dotted: string,
): { message: MessageFact; object: JsonObject; field: FieldFact; prefix: string } | undefined => {
  let prefix = "";
  const names = dotted.split(".");
  for (const [index, name] of names.entries()) {
    const field = message.byName.get(name);
    if (!field) return undefined;
    if (index === names.length - 1)
      return (field.kind === "message" && field.shape !== "list") || field.shape === "map" ? undefined : { message, object, field, prefix };
    if (field.shape !== "one" || !field.message) return undefined;
    const inner = object[field.json];
    const next = isObject(inner) ? inner : {};
    object[field.json] = next;
    prefix = joinPath(prefix, field.name);
    message = field.message;
    object = next;
  }
  return undefined;
};

/** Parses a list entry of a query: JSON, or the contract's short form. */
const entryFromShortForm = (field: FieldFact, value: string): Json | undefined => {
  if (value.startsWith("{")) {
    try {
      const entry = JSON.parse(value) as Json;
      return findRepeatedKey(value) === undefined ? entry : undefined;
    } catch {
      return undefined;
    }
  }
  if (!field.writtenAs) return undefined;
  const [first, second] = field.writtenAs;
  // A colon before a slash belongs to a port.
  const colon = value.lastIndexOf(":");
  if (colon <= value.lastIndexOf("/")) return { [first]: value };
  return {
    [first]: value.slice(0, colon),
    [second]: value
      .slice(colon + 1)
      .split(",")
      .filter((entry) => entry !== ""),
  };
};

const readEntry = (reader: Reader, field: FieldFact, value: string, at: string): Json | undefined => {
  if (field.kind !== "message") return readOne(reader, field, value, at);
  const written = entryFromShortForm(field, value);
  if (written !== undefined) return readOne({ ...reader, texts: false }, field, written, at);
  const [first, second] = field.writtenAs ?? [];
  addProblem(reader.problems, at, first ? `must be ${first}, ${first}:${second},… or a JSON object` : "must be a JSON object");
  return undefined;
};

const readQuery = (reader: Reader, method: MethodFact, http: HttpFact, request: JsonObject, query: readonly (readonly [string, string])[]): void => {
  for (const [key, value] of query) {
    const found = http.body === "*" ? undefined : locate(method.input, request, key);
    const inBody = found && http.body !== "" && method.input.byName.get(key.split(".")[0] ?? "")?.json === http.body;
    if (!found || inBody) {
      addProblem(reader.problems, key, "unknown query parameter");
      continue;
    }
    const { message, object, field, prefix } = found;
    const at = joinPath(prefix, field.name);
    const held = object[field.json];
    if (field.shape === "list") {
      const entry = readEntry(reader, field, value, at);
      if (entry === undefined) continue;
      // Appended in place: copying for each entry would be quadratic.
      if (Array.isArray(held)) held.push(entry);
      else object[field.json] = [entry];
    } else if (held !== undefined) addProblem(reader.problems, at, "given more than once");
    else assignField(reader, message, object, field, value, prefix);
  }
};

/**
 * Reads the request of a REST call.
 *
 * @param input.pathFields fields of the path: path as in the template, decoded value
 * @param input.query decoded query parameters in order
 * @param input.body the parsed body, if any
 */
export const readRest = (
  method: MethodFact,
  http: HttpFact,
  input: {
    readonly pathFields: readonly (readonly [string, string])[];
    readonly query: readonly (readonly [string, string])[];
    readonly body: Json | undefined;
  },
): Reading => {
  const problems: Violation[] = [];
  let request: JsonObject = {};
  let bodyPaths: string[] | undefined;
  if (http.body !== "") {
    const field = http.body === "*" ? undefined : method.input.byName.get(http.body);
    const target = http.body === "*" ? method.input : field?.message;
    const body = input.body ?? (field?.shape === "list" ? [] : {});
    if (field?.shape === "list") request = { [field.json]: readField({ problems, naming: "json", texts: false }, field, body, field.json) ?? [] };
    else if (!target || !isObject(body)) addProblem(problems, "body", "must be a JSON object");
    else {
      const object = readObject({ problems, naming: "json", texts: false }, target, body, "");
      request = http.body === "*" ? object : { [http.body]: object };
      bodyPaths = bodyPathsOf(target, body);
    }
  }
  readQuery({ problems, naming: "name", texts: true }, method, http, request, input.query);
  // decisions: Lists. A list that is unpaged in the public API is returned whole only over gRPC if the request has no page
  // fields.
  const size = method.input.byName.get("page_size");
  if (size?.additive) request[size.json] ??= 0;
  for (const [path, value] of input.pathFields) {
    const found = locate(method.input, request, path);
    if (!found) continue;
    const { object, field } = found;
    const held = object[field.json];
    // Attack 3: a path authorized for the caller with a body that names another resource.
    if (held !== undefined && held !== value) addProblem(problems, field.json, "differs from the path");
    const problem = textProblem(value);
    if (problem) addProblem(problems, field.name, problem);
    object[field.json] = value;
  }
  return { request, problems, bodyPaths };
};

/** A mask with one empty path is present but unreadable; its text must not look absent. */
const maskText = (paths: readonly string[]): string => (paths.length === 1 && paths[0] === "" ? " " : paths.join(","));

/** Converts a generated message to JSON without proto3 defaults. */
const jsonOf = (fact: MessageFact, message: Readonly<Record<string, unknown>>): JsonObject => {
  const out: JsonObject = {};
  for (const field of fact.fields) {
    const [property, member] = field.local;
    let value = message[property];
    if (member !== undefined) {
      const chosen = value as { case?: string; value?: unknown } | undefined;
      value = chosen?.case === member ? chosen.value : undefined;
    }
    if (value === undefined) continue;
    if (field.shape === "list") {
      if (Array.isArray(value) && value.length > 0) out[field.json] = value.map((entry) => jsonOfValue(field, entry));
    } else if (field.shape === "map") {
      const entries = Object.entries(value as Readonly<Record<string, unknown>>);
      if (entries.length > 0) out[field.json] = Object.fromEntries(entries.map(([key, entry]) => [key, jsonOfValue(field, entry)]));
    } else if (member !== undefined || field.presence || !isProto3Default(value)) out[field.json] = jsonOfValue(field, value);
  }
  return out;
};

const isProto3Default = (value: unknown): boolean =>
  value === "" || value === 0 || value === false || value === 0n || (value instanceof Uint8Array && value.length === 0);

const jsonOfValue = (field: FieldFact, value: unknown): Json => {
  switch (field.kind) {
    case "enum":
      return field.enum?.names.get(Number(value)) ?? Number(value);
    case "int64":
      return String(value);
    case "bytes":
      return value instanceof Uint8Array ? base64Of(value) : "";
    case "timestamp": {
      const { seconds, nanos } = value as { seconds: bigint; nanos: number };
      const milliseconds = Number(seconds) * 1000 + Math.floor(nanos / 1e6);
      // Outside RFC 3339's years: an invalid time, which the reader reports.
      return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : "";
    }
    case "duration": {
      const { seconds, nanos } = value as { seconds: bigint; nanos: number };
      const fraction = nanos === 0 ? "" : `.${String(Math.abs(nanos)).padStart(9, "0")}`;
      return `${seconds === 0n && nanos < 0 ? "-" : ""}${seconds}${fraction}s`;
    }
    case "mask":
      return maskText((value as { paths: string[] }).paths);
    case "message":
      return field.message ? jsonOf(field.message, value as Readonly<Record<string, unknown>>) : {};
    case "any":
      return {};
    default:
      return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : "";
  }
};

/** Converts any message of the contract to JSON. */
export const jsonOfMessage = (fact: MessageFact, message: Message): JsonObject => jsonOf(fact, message as unknown as Readonly<Record<string, unknown>>);

/** Reads the request of a gRPC call, with the same checks and names as over REST. */
export const readGrpc = (method: MethodFact, message: Message): Reading => {
  const problems: Violation[] = [];
  const json = jsonOfMessage(method.input, message);
  const body = method.http[0]?.body ?? "";
  const request: JsonObject = {};
  for (const field of method.input.fields) {
    const value = json[field.json];
    if (value === undefined) continue;
    const inBody = field.json === body || body === "*";
    const reader: Reader = { problems, naming: inBody ? "json" : "name", texts: false };
    if (field.json === body && field.message && isObject(value)) request[field.json] = readObject(reader, field.message, value, "");
    else assignField(reader, method.input, request, field, value, "");
  }
  return { request, problems, bodyPaths: undefined };
};

/**
 * Reads the request of a call with one JSON object for path, query and body, with the same checks and names as over REST. The
 * keys of the body are an update's default mask.
 */
export const readArguments = (method: MethodFact, given: JsonObject): Reading => {
  const problems: Violation[] = [];
  const body = method.http[0]?.body ?? "";
  const request: JsonObject = {};
  let bodyPaths: string[] | undefined;
  const named = new Set<FieldFact>();
  for (const [key, value] of Object.entries(given)) {
    const field = method.input.byName.get(key);
    if (!field) addProblem(problems, key, "unknown field");
    else if (named.has(field)) addProblem(problems, key, "given twice");
    else {
      named.add(field);
      if (value === null) continue;
      const inBody = field.json === body || body === "*";
      const reader: Reader = { problems, naming: inBody ? "json" : "name", texts: false };
      if (field.json === body && field.message && field.shape === "one") {
        if (!isObject(value)) addProblem(problems, field.json, expected.message);
        else {
          request[field.json] = readObject(reader, field.message, value, "");
          bodyPaths = bodyPathsOf(field.message, value);
        }
      } else assignField(reader, method.input, request, field, value, "");
    }
  }
  const size = method.input.byName.get("page_size");
  if (size?.additive) request[size.json] ??= 0;
  return { request, problems, bodyPaths };
};
