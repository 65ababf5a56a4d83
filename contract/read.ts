// From what a transport received to a request of JSON values. What cannot be read becomes a problem that names its field;
// nothing is thrown, so that the kernel can decide about the caller first.
//
// decisions: JSON. camelCase and snake_case in; unknown names refused; a key that would touch a prototype is
// data (a map's key) or an unknown field, never a property.

import type { Message } from "@bufbuild/protobuf";
import type { Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { findRepeatedKey } from "#base/json-keys.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import type { FieldFact, HttpFact, Kind, MessageFact, MethodFact } from "./facts.ts";

export interface Reading {
  readonly request: JsonObject;
  /** As many as an answer shows; more are not made. */
  readonly problems: Violation[];
  readonly bodyPaths: string[] | undefined;
}

/** How problems name a field: by JSON name inside a body, by proto name outside (order_by, page_token). */
type Naming = "json" | "name";

interface Reader {
  readonly problems: Violation[];
  readonly naming: Naming;
  /** Query parameters and path fields come as texts. */
  readonly texts: boolean;
}

/** No more than an answer shows. */
const addProblem = (problems: Violation[], field: string, description: string): void => {
  if (problems.length < limits.violationsMax) problems.push({ field, description });
};

const joinPath = (prefix: string, name: string): string => (prefix ? `${prefix}.${name}` : name);

/** A text that PostgreSQL and UTF-8 can hold: no lone surrogate, no NUL. */
const textProblem = (value: string): string | undefined => {
  if (!value.isWellFormed()) return "must be valid Unicode text";
  if (value.includes("\0")) return "must not contain the NUL character";
  return undefined;
};

/** The paths of a mask come in one text, so that they were not counted as a list's elements are. */
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

/** RFC 3339 to our three decimals. protobuf's JSON has nine at most. */
const normalTimestamp = (value: string): string | undefined => {
  const milliseconds = /\.\d{10}/.test(value) ? undefined : readTimestamp(value);
  return milliseconds === undefined ? undefined : timestamp(milliseconds);
};

/** A number as programs write it: small and large ones have an exponent. */
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

/** Ten thousand years: what google.protobuf.Duration may hold. */
const durationSecondsMax = 315_576_000_000;

/** One value of the field's kind, or undefined and a problem. */
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
  // fromEntries defines own properties, so that "__proto__" stays a key like any other.
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const problem = field.keyKind === "int64" && readInteger(key, -(2n ** 63n), 2n ** 63n - 1n) === undefined ? expected.int64 : textProblem(key);
      if (problem) addProblem(reader.problems, `${at}[${JSON.stringify(key)}]`, `key ${problem}`);
      return [key, readOne(reader, field, entry, `${at}[${JSON.stringify(key)}]`) ?? null];
    }),
  );
};

/** The member of the same oneof that `object` already holds. */
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
    // In two spellings; what is given twice in one is no body that is read (base/json-keys.ts).
    else if (given.has(field)) addProblem(reader.problems, joinPath(prefix, key), "given twice");
    else {
      given.add(field);
      // AIP and proto JSON: null is the same as leaving the field out.
      if (value !== null) assignField(reader, message, object, field, value, prefix);
    }
  }
  return object;
};

/** The body's keys as field paths in JSON names; unknown keys have been reported already. */
export const bodyPathsOf = (message: MessageFact, json: JsonObject, prefix = ""): string[] =>
  Object.entries(json).flatMap(([key, value]) => {
    const field = message.byName.get(key);
    if (!field) return [];
    const at = joinPath(prefix, field.json);
    if (field.shape !== "one" || !field.message || !isObject(value)) return [at];
    const inner = bodyPathsOf(field.message, value, at);
    return inner.length > 0 ? inner : [at];
  });

/** Finds a dotted name ("uidp.descendants_of") in the message, and the object that holds its last part. */
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

/** A message of a list as a query writes it: JSON, or the short form that the contract gives it. */
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
  // A colon before a slash is a port's.
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

/** One value of a list in a query. */
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
      // A list of its own, in place: one copy for each entry would be quadratic.
      if (Array.isArray(held)) held.push(entry);
      else object[field.json] = [entry];
    } else if (held !== undefined) addProblem(reader.problems, at, "given more than once");
    else assignField(reader, message, object, field, value, prefix);
  }
};

/**
 * The request of a REST call.
 * @param input.pathFields what the path's template captured: field path as in the template, decoded value
 * @param input.query decoded query parameters in their order
 * @param input.body the parsed body; undefined where there was none
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
  // decisions: Lists. A list that has no page fields in public is given whole to a request without them over gRPC alone.
  const size = method.input.byName.get("page_size");
  if (size?.additive) request[size.json] ??= 0;
  for (const [path, value] of input.pathFields) {
    const found = locate(method.input, request, path);
    if (!found) continue;
    const { object, field } = found;
    const held = object[field.json];
    // Attack 3 of the list of attacks: the path is mine, the body is yours.
    if (held !== undefined && held !== value) addProblem(problems, field.json, "differs from the path");
    const problem = textProblem(value);
    if (problem) addProblem(problems, field.name, problem);
    object[field.json] = value;
  }
  return { request, problems, bodyPaths };
};

/** A mask whose only path is empty is there, and says nothing readable: as text it must not look like none. */
const maskText = (paths: readonly string[]): string => (paths.length === 1 && paths[0] === "" ? " " : paths.join(","));

/** A generated message's own values as JSON values; a field at its proto3 default is left out. */
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
      // Out of RFC 3339's years: no time at all, and the reader says so.
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

/** The values of any message of the contract. */
export const jsonOfMessage = (fact: MessageFact, message: Message): JsonObject => jsonOf(fact, message as unknown as Readonly<Record<string, unknown>>);

/** The request of a gRPC call: the same checks and the same names in problems as over REST. */
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
 * The request of a call whose message is one JSON object, fields of path, query and body side by side: the same checks and the same
 * names in problems as over REST, and the body's own keys as the mask that an update has without one.
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
