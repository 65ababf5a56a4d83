// JSON schemas (2020-12, the dialect of OpenAPI 3.1) of the contract's messages, as the server takes and renders them. Pure.
//
// A message that is both taken and given has two schemas: "Group" is what an answer shows, "GroupInput" what a request may say.
// Requests are closed, because the server refuses what it does not know; answers are open, because it may show more some day.

import type { Json, JsonObject } from "#base/json.ts";
import { capabilities, capabilityByName, capabilityBySymbol } from "../capabilities.ts";
import { type EnumFact, type FieldFact, type MessageFact, requiredOneofsOf } from "../facts.ts";
import { schemaNameOf } from "./names.ts";

/** Whether a schema is of what is asked, of what an update asks, of what is answered, or of what is shown of it to whoever is no member. */
export type Direction = "request" | "update" | "answer" | "excerpt";

const isAnswered = (direction: Direction): boolean => direction === "answer" || direction === "excerpt";

/** The texts of the contract by name. */
export type Texts = Readonly<Record<string, string>>;

export interface Schemas {
  /** A reference to the message's schema, which is made where nobody has asked for it before. */
  readonly ofMessage: (message: MessageFact, direction: Direction) => JsonObject;
  /** The schema of a field's value, with what the contract says of it. */
  readonly ofField: (owner: MessageFact, field: FieldFact, direction: Direction) => JsonObject;
  /** The schema of a request's body that is the message itself, without these fields, which are in the path. */
  /** `left`: fields in the path. `isView`: the operation has the rules of its counterpart. */
  readonly ofBody: (message: MessageFact, left: ReadonlySet<string>, isView: boolean) => JsonObject;
  /** Adds a schema that is none of the contract. */
  readonly add: (name: string, schema: JsonObject) => JsonObject;
  /** The field with all that binds it. */
  readonly withRules: (field: FieldFact) => FieldFact;
  /** Everything that was asked for, by name. */
  readonly all: () => JsonObject;
}

/** 40 hex characters, and 16 more for each level below. */
export const uidPattern = "^[0-9a-f]{40}(/[0-9a-f]{16})*$";

/** What a list or map may hold where the contract sets no maximum (server/kernel/field-behavior.ts). */
const entriesMax = 1_000;

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** An anchored pattern as it is; any other matches the whole value, as the server matches it. */
const wholePattern = (pattern: string): string => (/^\^.*\$$/s.test(pattern) ? pattern : `^(?:${pattern})$`);

const isListResponse = ({ short, fields }: MessageFact): boolean =>
  short.startsWith("List") && fields.some(({ name }) => name === "next_page_token") && fields.some(({ name }) => name === "total_count");

/** What an answer always carries (decisions: JSON): of a list its entries and its counts, of a resource its common fields and its flags. */
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

/** What the schema of a field cannot say. */
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

/** Forms of the whole numbers from 1 to the one below `end`: all that have fewer digits, then those that are less at one digit after another. */
const numbersBelow = (end: string): string[] => {
  const fewer = end.length === 1 ? [] : [`[1-9][0-9]{0,${end.length - 2}}`];
  const less = [...end].flatMap((digit, at) => {
    const least = at === 0 ? 1 : 0;
    const most = Number(digit) - 1;
    return most < least ? [] : [`${end.slice(0, at)}${most === least ? least : `[${least}-${most}]`}${digits(end.length - at - 1)}`];
  });
  return [...fewer, ...less];
};

/** Whole numbers of 64 bits but the lowest, which nobody means. */
const int64Pattern = `^(?:0|-?(?:${numbersBelow(String(2n ** 63n)).join("|")}))$`;

/**
 * A duration as protobuf's JSON writes it, within the seconds that the contract says: a fraction may follow all but the last of them.
 * Eleven digits are as many as any may have.
 */
const durationPattern = ({ name, minimum, maximum }: FieldFact): string => {
  const fraction = "(?:\\.[0-9]{1,9})?";
  if (minimum === 0 && (maximum === 0 || maximum >= 1e11)) return `^${maximum === 0 ? "-?" : ""}[0-9]{1,11}${fraction}s$`;
  if (minimum < 0 || minimum > 1 || maximum <= minimum) throw new Error(`${name}: there is no pattern for a duration of ${minimum} to ${maximum} seconds`);
  const below = [...(minimum === 0 ? ["0"] : []), ...numbersBelow(String(maximum))].join("|");
  return `^(?:(?:${below})${fraction}|${maximum})s$`;
};

const joined = (...parts: readonly (string | undefined)[]): string => parts.filter((part) => part !== undefined && part !== "").join("\n\n");

/** What the server understands of a text of this kind. */
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

/** proto3 reads what is empty as absent, so what is required is not empty. */
export const notEmpty = ({ shape, kind, minItems }: FieldFact): JsonObject => {
  if (shape === "list") return { minItems: Math.max(minItems, 1) };
  if (shape === "map" || kind === "message") return { minProperties: 1 };
  return kind === "string" || kind === "bytes" ? { minLength: 1 } : {};
};

/** What the example tells of a text that no pattern says: a time is one, and so is the name of a capability. */
const exampleLimitsOf = ({ example, kind, name }: FieldFact): JsonObject => {
  if (kind !== "string") return {};
  // Opaque: only what an answer gave.
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

/** `withRules`: a field with all that binds it, where its own contract does not say it. */
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
      // A zero that stands for absence is left out, and nobody need send it.
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
      // A resource's list may be left empty unless the field is required; a request's must hold as many as it says.
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

  /** Of fields that exclude each other no two; and of some of such sets, one with something in it. */
  const oneofsOf = (shown: readonly FieldFact[], direction: Direction): JsonObject => {
    const members = new Map<string, string[]>();
    for (const { oneof, presence, json } of shown) if (oneof !== undefined && !presence) members.set(oneof, [...(members.get(oneof) ?? []), json]);
    const pairs = [...members.values()].flatMap((names) =>
      names.flatMap((one, index) => names.slice(index + 1).map((other) => ({ not: { required: [one, other] } }))),
    );
    // What an update leaves out stays as it is.
    const choices = (direction === "update" ? [] : requiredOneofsOf(shown)).map((fields) => ({
      anyOf: fields.map((field) => ({ required: [field.json], properties: { [field.json]: notEmpty(field) } })),
    }));
    return pairs.length + choices.length === 0 ? {} : { allOf: [...pairs, ...choices] };
  };

  const nowhere: ReadonlySet<string> = new Set();
  const leftOf = new Map<string, ReadonlySet<string>>();

  /** `isBody`: the message is the body itself; otherwise it stands in another one. */
  const inPlace = (message: MessageFact, direction: Direction, left = nowhere, isBody = false, rules = withRules): JsonObject => {
    const shown = message.fields
      .map((field) => (isAnswered(direction) ? field : rules(field)))
      .filter((field) => !left.has(field.json) && !(isAnswered(direction) && field.inputOnly) && !(field.version1Only && message.name.includes(".v2.")));
    const required = shown
      .filter((field) => {
        if (direction === "excerpt") return field.name === "uid";
        if (direction === "answer") return isAlwaysAnswered(message, field);
        // What an update leaves out stays as it is; a flag's false is a value; a batch's entry may leave its place to the batch (AIP-233).
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
      // Before its fields, so that a message may contain itself.
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
      // Two operations of one message differ by the fields in their paths.
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
