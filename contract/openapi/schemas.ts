// JSON schemas (2020-12, as in OpenAPI 3.1) of the contract's messages.
//
// A message used in both directions has two schemas: "Group" for responses, "GroupInput" for requests. Requests are closed,
// because the server refuses unknown fields; responses are open, because fields may be added.

import type { Json, JsonObject } from "#base/json.ts";
import { capabilities, capabilityByName, capabilityBySymbol } from "../capabilities.ts";
import { type EnumFact, type FieldFact, type MessageFact, requiredOneofsOf } from "../facts.ts";
import { schemaNameOf } from "./names.ts";

/** Use of a schema: request, update, response, or the reduced response for non-members. */
export type Direction = "request" | "update" | "answer" | "excerpt";

const isAnswered = (direction: Direction): boolean => direction === "answer" || direction === "excerpt";

/** Descriptions of the contract by name. */
export type Texts = Readonly<Record<string, string>>;

export interface Schemas {
  /** Returns a reference to the message's schema and creates it if needed. */
  readonly ofMessage: (message: MessageFact, direction: Direction) => JsonObject;
  /** Returns the schema of a field's value with its description. */
  readonly ofField: (owner: MessageFact, field: FieldFact, direction: Direction) => JsonObject;
  /** Returns the schema of a body that is the message itself. */
  /** `left`: fields in the path. `isView`: the counterpart's rules apply. */
  readonly ofBody: (message: MessageFact, left: ReadonlySet<string>, isView: boolean) => JsonObject;
  /** Adds a schema from outside the contract. */
  readonly add: (name: string, schema: JsonObject) => JsonObject;
  /** Returns the field with all its rules. */
  readonly withRules: (field: FieldFact) => FieldFact;
  /** Returns all schemas created so far. */
  readonly all: () => JsonObject;
}

/** 40 hex characters, and 16 more for each level. */
export const uidPattern = "^[0-9a-f]{40}(/[0-9a-f]{16})*$";

/** Default maximum of a list or map (server/kernel/field-behavior.ts). */
const entriesMax = 1_000;

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** Anchors a pattern, because the server matches the whole value. */
const wholePattern = (pattern: string): string => (/^\^.*\$$/s.test(pattern) ? pattern : `^(?:${pattern})$`);

const isListResponse = ({ short, fields }: MessageFact): boolean =>
  short.startsWith("List") && fields.some(({ name }) => name === "next_page_token") && fields.some(({ name }) => name === "total_count");

/**
 * Returns whether responses always include the field (decisions: JSON): a list's entries and counts, a resource's common fields
 * and flags.
 */
const isAlwaysAnswered = (
  message: MessageFact,
  { name, kind, shape, message: inner, additive, presence, oneof, version1Only, inputOnly }: FieldFact,
): boolean => {
  if (inputOnly || version1Only) return false;
  if (isListResponse(message)) return name === "total_count" || name === "skipped" || (shape === "list" && inner !== undefined);
  if (!message.resource) return false;
  if (name === "uid" || name === "create_time" || name === "update_time") return true;
  return shape === "one" && kind === "bool" && !additive && !presence && oneof === undefined;
};

const remarksOf = (field: FieldFact, direction: Direction): string[] => {
  const remarks: string[] = [];
  if (field.shownOnce) remarks.push("Shown once: only in the response to the request that created it.");
  if (isAnswered(direction)) return remarks;
  if (field.immutable) remarks.push("Cannot be changed once it is set.");
  if (field.fixedWhile !== "") remarks.push(`Cannot be changed while \`${field.fixedWhile}\` is true.`);
  if (field.namedOnly) remarks.push("Changed only by an update that names it: a full replacement (`updateMask=*`) leaves it as it is.");
  return remarks;
};

const digits = (count: number): string => (count === 0 ? "" : count === 1 ? "[0-9]" : `[0-9]{${count}}`);

/** Returns patterns of the integers from 1 to `end` - 1: those with fewer digits, then those smaller at one digit. */
const numbersBelow = (end: string): string[] => {
  const fewer = end.length === 1 ? [] : [`[1-9][0-9]{0,${end.length - 2}}`];
  const less = [...end].flatMap((digit, at) => {
    const least = at === 0 ? 1 : 0;
    const most = Number(digit) - 1;
    return most < least ? [] : [`${end.slice(0, at)}${most === least ? least : `[${least}-${most}]`}${digits(end.length - at - 1)}`];
  });
  return [...fewer, ...less];
};

/** 64-bit integers except the lowest, which no caller needs. */
const int64Pattern = `^(?:0|-?(?:${numbersBelow(String(2n ** 63n)).join("|")}))$`;

/**
 * Returns the pattern of a protobuf JSON duration within the contract's seconds; all but the maximum may have a fraction. Eleven
 * digits are the most possible.
 */
const durationPattern = ({ name, minimum, maximum }: FieldFact): string => {
  const fraction = "(?:\\.[0-9]{1,9})?";
  if (minimum === 0 && (maximum === 0 || maximum >= 1e11)) return `^${maximum === 0 ? "-?" : ""}[0-9]{1,11}${fraction}s$`;
  if (minimum < 0 || minimum > 1 || maximum <= minimum) throw new Error(`${name}: there is no pattern for a duration of ${minimum} to ${maximum} seconds`);
  const below = [...(minimum === 0 ? ["0"] : []), ...numbersBelow(String(maximum))].join("|");
  return `^(?:(?:${below})${fraction}|${maximum})s$`;
};

const joined = (...parts: readonly (string | undefined)[]): string => parts.filter((part) => part !== undefined && part !== "").join("\n\n");

const scalarSchema = (field: FieldFact): JsonObject => {
  switch (field.kind) {
    case "bool":
      return { type: "boolean" };
    case "int32":
      return { type: "integer", format: "int32", ...numberLimitsOf(field) };
    case "int64":
      return { type: "string", format: "int64", pattern: int64Pattern };
    case "double":
      return { type: "number", format: "double", ...numberLimitsOf(field) };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "mask":
      return { type: "string", format: "field-mask" };
    case "duration":
      return { type: "string", pattern: durationPattern(field) };
    case "any":
      return { type: "object", properties: { "@type": { type: "string" } }, required: ["@type"] };
    default:
      return { type: "string", ...textLimitsOf(field), ...exampleLimitsOf(field) };
  }
};

const numberLimitsOf = ({ minimum, maximum }: FieldFact): JsonObject =>
  minimum === 0 && maximum === 0 ? {} : { minimum, ...(maximum === 0 ? {} : { maximum }) };

const textLimitsOf = ({ uid, pattern, maxLength, shape }: FieldFact): JsonObject => ({
  ...(pattern === undefined ? (uid ? { pattern: uidPattern } : {}) : { pattern: wholePattern(pattern) }),
  ...(maxLength > 0 && shape === "one" ? { maxLength } : {}),
});

/** proto3 reads empty values as absent, so required ones are not empty. */
export const notEmpty = ({ shape, kind, minItems }: FieldFact): JsonObject => {
  if (shape === "list") return { minItems: Math.max(minItems, 1) };
  if (shape === "map" || kind === "message") return { minProperties: 1 };
  return kind === "string" || kind === "bytes" ? { minLength: 1 } : {};
};

/** Derives a format from the example: a time, or the name of a capability. */
const exampleLimitsOf = ({ example, kind, name }: FieldFact): JsonObject => {
  if (kind !== "string") return {};
  // Opaque; only from an earlier response.
  if (name === "page_token") return { format: "page-token" };
  if (/^\d{4}-\d\d-\d\dT/.test(example)) return { format: "date-time" };
  return capabilityByName(example) === undefined ? {} : { enum: capabilities.map(({ name }) => name) };
};

/** google.protobuf.Struct and its parts: any JSON. */
const freeForms: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Value": {},
};

/** Creates the schemas. `withRules` adds rules that the field's own contract lacks. */
export const openSchemas = (
  texts: Texts,
  withRules: (field: FieldFact) => FieldFact = (field) => field,
  nameOf: typeof schemaNameOf = schemaNameOf,
): Schemas => {
  const made = new Map<string, JsonObject>();
  const owners = new Map<string, string>();

  const claim = (name: string, owner: string): void => {
    const holder = owners.get(name);
    if (holder !== undefined && holder !== owner) throw new Error(`${holder} and ${owner} are both called ${name}: contract/openapi/names.ts tells them apart`);
    owners.set(name, owner);
  };

  const ofEnum = (fact: EnumFact): JsonObject => {
    const name = nameOf(fact);
    claim(name, fact.name);
    if (!made.has(name)) {
      // An unspecified zero is omitted; requests need not send it.
      const isAbsence = (value: string): boolean => /(?:UNSPECIFIED|UNKNOWN)$/.test(value) && !fact.answered.has(value);
      const names = [...fact.numbers].filter(([value, number]) => number !== 0 || !isAbsence(value)).map(([value]) => value);
      const explained = names.flatMap((value) => {
        const capability = capabilityBySymbol(value);
        const text = texts[`${fact.name}.${value}`] ?? (capability && `\`${capability.name}\``);
        return text === undefined ? [] : [`- \`${value}\`: ${text}`];
      });
      const description = joined(texts[fact.name], explained.join("\n"));
      made.set(name, { type: "string", ...(description === "" ? {} : { description }), enum: names });
    }
    return reference(name);
  };

  const ofValue = (field: FieldFact, direction: Direction, isLookup: boolean): JsonObject => {
    if (field.enum) return ofEnum(field.enum);
    if (field.message) return ofMessage(field.message, direction === "answer" && isLookup && field.message.resource ? "excerpt" : direction);
    return scalarSchema(field);
  };

  const ofShape = (field: FieldFact, direction: Direction, isLookup: boolean): JsonObject => {
    const value = ofValue(field, direction, isLookup);
    if (field.shape === "one") return value;
    const most = field.maxLength > 0 ? field.maxLength : entriesMax;
    if (field.shape === "list") {
      // A resource's list may be empty unless required; a request's list must have its minimum.
      const least = field.minItems > 0 && field.required ? { minItems: field.minItems } : {};
      const items = isAnswered(direction) || field.kind !== "string" ? value : { ...value, minLength: 1 };
      return { type: "array", items, ...(isAnswered(direction) ? {} : { ...least, maxItems: most }) };
    }
    const keys: JsonObject = field.keyKind === "string" ? {} : { propertyNames: { pattern: int64Pattern } };
    return { type: "object", additionalProperties: value, ...keys, ...(isAnswered(direction) ? {} : { maxProperties: most }) };
  };

  const ofField: Schemas["ofField"] = (owner, field, direction) => {
    const description = joined(texts[`${owner.name}.${field.name}`], ...remarksOf(field, direction));
    const schema = ofShape(field, direction, owner.short.startsWith("Lookup"));
    return {
      ...schema,
      ...(description === "" ? {} : { description }),
      ...(field.outputOnly ? { readOnly: true } : {}),
      ...(field.inputOnly ? { writeOnly: true } : {}),
      ...(field.deprecated ? { deprecated: true } : {}),
    };
  };

  /** Of exclusive fields at most one; in required oneofs, one with a value. */
  const oneofsOf = (shown: readonly FieldFact[], direction: Direction): JsonObject => {
    const members = new Map<string, string[]>();
    for (const { oneof, presence, json } of shown) if (oneof !== undefined && !presence) members.set(oneof, [...(members.get(oneof) ?? []), json]);
    const pairs = [...members.values()].flatMap((names) =>
      names.flatMap((one, index) => names.slice(index + 1).map((other) => ({ not: { required: [one, other] } }))),
    );
    // Fields omitted from an update stay unchanged.
    const choices = (direction === "update" ? [] : requiredOneofsOf(shown)).map((fields) => ({
      anyOf: fields.map((field) => ({ required: [field.json], properties: { [field.json]: notEmpty(field) } })),
    }));
    return pairs.length + choices.length === 0 ? {} : { allOf: [...pairs, ...choices] };
  };

  const nowhere: ReadonlySet<string> = new Set();
  const leftOf = new Map<string, ReadonlySet<string>>();

  /** `isBody`: the message is the body; otherwise it is nested. */
  const inPlace = (message: MessageFact, direction: Direction, left = nowhere, isBody = false, rules = withRules): JsonObject => {
    const shown = message.fields
      .map((field) => (isAnswered(direction) ? field : rules(field)))
      .filter((field) => !left.has(field.json) && !(isAnswered(direction) && field.inputOnly) && !(field.version1Only && message.name.includes(".v2.")));
    const required = shown
      .filter((field) => {
        if (direction === "excerpt") return field.name === "uid";
        if (direction === "answer") return isAlwaysAnswered(message, field);
        // Fields omitted from an update stay unchanged; false is a value; a batch entry may omit its parent (AIP-233).
        return direction === "request" && field.required && !field.outputOnly && field.kind !== "bool" && (isBody || !field.scope);
      })
      .map(({ json }) => json);
    const inner = direction === "update" ? "request" : direction;
    return {
      type: "object",
      ...(texts[message.name] === undefined ? {} : { description: texts[message.name] ?? "" }),
      properties: Object.fromEntries(
        shown.map((field): [string, Json] => {
          const schema = ofField(message, field, inner);
          return [field.json, inner === "request" && required.includes(field.json) ? { ...schema, ...notEmpty(field) } : schema];
        }),
      ),
      ...(required.length > 0 ? { required } : {}),
      ...(isAnswered(direction) ? {} : { ...oneofsOf(shown, direction), additionalProperties: false }),
    };
  };

  const suffixes: Readonly<Record<Direction, string>> = { answer: "", excerpt: "Excerpt", request: "Input", update: "Update" };

  const ofMessage: Schemas["ofMessage"] = (message, direction) => {
    const free = freeForms[message.name];
    if (free) return free;
    const name = nameOf(message) + suffixes[direction];
    claim(name, `${message.name} (${direction})`);
    if (!made.has(name)) {
      // Registered before its fields, because messages may be recursive.
      made.set(name, {});
      made.set(name, inPlace(message, direction));
    }
    return reference(name);
  };

  return {
    ofMessage,
    ofField,
    withRules,
    ofBody: (message, left, isView) => {
      const base = nameOf(message);
      const first = base.endsWith("Request") ? base : `${base}Body`;
      // Operations of the same message differ in their path fields.
      const more = [...(leftOf.get(first) ?? left)].filter((field) => !left.has(field)).map((field) => field.charAt(0).toUpperCase() + field.slice(1));
      const name = more.length === 0 ? first : `${first}With${more.join("")}`;
      claim(name, `${message.name} (body${more.length === 0 ? "" : ` with ${more.join(", ")}`})`);
      if (!made.has(name)) {
        leftOf.set(name, left);
        made.set(name, inPlace(message, "request", left, true, isView ? withRules : (field) => field));
      }
      return reference(name);
    },
    add: (name, schema) => {
      claim(name, name);
      made.set(name, schema);
      return reference(name);
    },
    all: () => Object.fromEntries([...made].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
};
