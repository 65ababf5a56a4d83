// Builds the request from a file, overridden by flags. An update's mask names only what was given.

import { type FileHandle, open } from "node:fs/promises";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { missingValues, wrongUsage } from "../exit-status.ts";
import { nearestOf } from "../nearest.ts";
import { messagesReferredTo, type Names } from "./references.ts";
import type { CommandShape, FieldFlag } from "./shape.ts";
import { readValue, type ValueReader } from "./values.ts";

/** All values of each flag, by its name. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>;

export interface Given {
  readonly positionals: readonly string[];
  readonly flags: GivenFlags;
  readonly file: string | undefined;
}

/** Reads a file or piped input, up to the size of a request. */
export const contentReader =
  (input: NodeJS.ReadableStream) =>
  async (option: string, file: string): Promise<string> => {
    if (file === "-") return process.getBuiltinModule("node:stream/consumers").text(input);
    let handle: FileHandle | undefined;
    try {
      handle = await open(file);
      if ((await handle.stat()).size > limits.requestFileBytesMax) throw new Error(`the file is larger than ${limits.requestFileBytesMax} bytes`);
      return await handle.readFile("utf8");
    } catch (cause) {
      throw new Fault("FAILED_PRECONDITION", `${option}: ${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    } finally {
      await handle?.close();
    }
  };

export const setAt = (object: JsonObject, path: readonly string[], value: Json): void => {
  const [first = "", ...rest] = path;
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  const held = object[first];
  const inner = isObject(held) ? held : {};
  object[first] = inner;
  setAt(inner, rest, value);
};

const checkKeys = (source: string, message: MessageFact, document: JsonObject): void => {
  const unknown: string[] = [];
  const look = (within: MessageFact, object: JsonObject, prefix: string): void => {
    for (const [key, value] of Object.entries(object)) {
      const field = within.byName.get(key);
      if (field === undefined) {
        const nearest = nearestOf(key, [...within.byName.keys()]);
        unknown.push(`${prefix}${key}${nearest === undefined ? "" : ` (did you mean ${nearest}?)`}`);
      } else if (field.message !== undefined) {
        for (const entry of field.shape === "one"
          ? [value]
          : field.shape === "list"
            ? Array.isArray(value)
              ? value
              : []
            : isObject(value)
              ? Object.values(value)
              : [])
          if (isObject(entry)) look(field.message, entry, `${prefix}${key}.`);
      }
    }
  };
  look(message, document, "");
  if (unknown.length > 0) throw new Fault("INVALID_ARGUMENT", `${source}: unknown field ${unknown.join(", ")}`);
};

/** Drops output-only fields, so that the output of Get can be sent back. */
const withoutOutput = (message: MessageFact, document: JsonObject, isUpdate: boolean): JsonObject =>
  Object.fromEntries(
    Object.entries(document).flatMap(([key, value]): [string, Json][] => {
      const field = message.byName.get(key);
      if (field === undefined || field.outputOnly || (isUpdate && field.immutable)) return [];
      const inner = field.shape === "one" && field.message !== undefined && isObject(value) ? withoutOutput(field.message, value, isUpdate) : value;
      return [[field.json, inner]];
    }),
  );

const readFileDocument = async (file: string, message: MessageFact, reader: ValueReader): Promise<JsonObject> => {
  const source = file === "-" ? "standard input" : file;
  const { parseStructured } = await import("../output/yaml.ts");
  const { value, problem } = parseStructured(await reader.readContent("--file", file));
  if (problem !== undefined) throw new Fault("INVALID_ARGUMENT", `${source} is not valid JSON or YAML: ${problem}`);
  if (!isObject(value)) throw new Fault("INVALID_ARGUMENT", `${source} must contain one object`);
  checkKeys(source, message, value);
  return value;
};

const leafPaths = (message: MessageFact, document: JsonObject, prefix = ""): string[] =>
  Object.entries(document).flatMap(([key, value]) => {
    const field = message.byName.get(key);
    if (field?.shape === "one" && field.message !== undefined && isObject(value) && Object.keys(value).length > 0)
      return leafPaths(field.message, value, `${prefix}${key}.`);
    return [`${prefix}${key}`];
  });

export interface BuiltRequest {
  readonly request: JsonObject;
  /** For an update: paths within the resource; otherwise empty. */
  readonly paths: readonly string[];
}

export interface Building {
  readonly shape: CommandShape;
  readonly given: Given;
  readonly names: Names;
  readonly reader: ValueReader;
  /** Organization of the context: the default parent. */
  readonly organization: string | undefined;
}

/** Resolves names to uids, also within a list. */
const resolved = async (option: string, flag: FieldFlag, value: Json, { shape, names }: Building): Promise<Json> => {
  const messages = messagesReferredTo(flag, shape);
  if (messages.length === 0) return value;
  if (typeof value === "string") return names.resolve(option, messages, value, shape.method);
  if (!Array.isArray(value)) return value;
  return Promise.all(value.map((entry) => (typeof entry === "string" ? names.resolve(option, messages, entry, shape.method) : entry)));
};

const isParent = ({ path, field }: FieldFlag): boolean => path.length === 1 && field.name === "parent" && field.required;

/** Builds the request. Throws a Fault if it cannot be sent; the server validates values. */
export const buildRequest = async (building: Building): Promise<BuiltRequest> => {
  const { shape, given, reader, organization } = building;
  const { kind, body, positionals, flags, method } = shape;
  const request: JsonObject = {};
  let document: JsonObject = {};
  if (given.file !== undefined) {
    const message = body?.message ?? method.input;
    document = await readFileDocument(given.file, message, reader);
    const own = withoutOutput(message, document, kind === "update");
    if (body === undefined) Object.assign(request, own);
    else request[body.json] = own;
  }
  for (const [index, positional] of positionals.entries()) {
    const fromDocument = positional.path.length > 1 ? document[positional.path.at(-1) ?? ""] : undefined;
    const value = given.positionals[index] ?? (typeof fromDocument === "string" ? fromDocument : undefined);
    if (value === undefined) throw wrongUsage(`${positional.name} is required. Name the resource, or pass a --file that has it`);
    setAt(request, positional.path, await resolved("", positional, value, building));
  }
  const paths = body?.message !== undefined && kind === "update" ? leafPaths(body.message, withoutOutput(body.message, document, true)) : [];
  const valuesOf = (flag: FieldFlag): readonly string[] | undefined =>
    given.flags.get(flag.name) ?? (isParent(flag) && organization !== undefined ? [organization] : undefined);
  const missing = flags.filter(
    (flag) => flag.path.length === 1 && flag.field.required && valuesOf(flag) === undefined && request[flag.field.json] === undefined,
  );
  if (missing.length > 0) throw missingValues(missing.map(({ path }) => path.join(".")));
  for (const flag of flags) {
    const values = valuesOf(flag);
    if (values === undefined) continue;
    const option = `--${flag.name}`;
    setAt(request, flag.path, await resolved(option, flag, await readValue(option, flag.field, values, reader), building));
    if (body !== undefined && flag.path[0] === body.json) paths.push(flag.path.slice(1).join("."));
  }
  // A request whose body is the resource always has one.
  if (body !== undefined) request[body.json] ??= {};
  return { request, paths: kind === "update" ? [...new Set(paths)] : [] };
};

export const maskField = ({ method }: CommandShape): FieldFact | undefined => method.input.fields.find(({ kind }) => kind === "mask");
