// Renders a JSON schema as a list of fields: name, type and description. Nested fields can be expanded; recursive messages are
// rendered once.

import { escapeHtml } from "#base/html.ts";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { patternWords } from "#base/pattern-words.ts";
import type { Reference } from "./document.ts";

type Resolve = Reference["resolve"];

export type Describe = (markdown: string) => string;

const alternativesOf = (schema: JsonObject): JsonObject[] =>
  ["oneOf", "anyOf"].flatMap((key) => {
    const list = schema[key];
    return Array.isArray(list) ? list.filter(isObject) : [];
  });

const listTypes = (schema: JsonObject): string[] =>
  Array.isArray(schema.type) ? texts(schema, "type") : text(schema, "type") === "" ? [] : [text(schema, "type")];

/** Describes a type: "string (date-time)", "list of Group", "one of: A, B". */
export const typeWords = (resolve: Resolve, given: JsonObject): string => {
  const { schema, name } = resolve(given);
  const types = listTypes(schema).filter((type) => type !== "null");
  if (types.includes("array")) return `list of ${typeWords(resolve, part(schema, "items"))}`;
  if (isObject(schema.additionalProperties) && Object.keys(part(schema, "properties")).length === 0)
    return `map of text to ${typeWords(resolve, part(schema, "additionalProperties"))}`;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return "one of a list";
  if (types.includes("object") || isObject(schema.properties)) return name === "" ? "object" : name;
  const several = alternativesOf(schema);
  if (several.length > 0) return [...new Set(several.map((each) => typeWords(resolve, each)))].join(" or ");
  const format = text(schema, "format");
  if (format === "int64") return "64-bit integer, as text";
  return `${types.join(" or ") || name || "anything"}${format === "" ? "" : ` (${format})`}`;
};

const valueText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const codeHtml = (value: Json): string => `<code>${escapeHtml(valueText(value))}</code>`;

/** Words with code between backticks. */
const wordsHtml = (words: string): string => escapeHtml(words).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const patternHtml = (schema: JsonObject): string[] => {
  const pattern = text(schema, "pattern");
  // The type says it already.
  if (pattern === "" || text(schema, "format") === "int64") return [];
  const words = patternWords(pattern);
  return words === undefined ? [] : [wordsHtml(words)];
};

/** "1 to 63 characters", "at most 10 entries" */
const rangeHtml = (least: Json | undefined, most: Json | undefined, unit: readonly [one: string, several: string] | ""): string[] => {
  if (typeof least !== "number" && typeof most !== "number") return [];
  const [one = "", several = ""] = unit === "" ? [] : unit;
  const units = (most ?? least) === 1 ? one : several;
  if (typeof least !== "number") return [`at most ${most}${units}`];
  if (typeof most !== "number") return [`at least ${least}${units}`];
  return [least === most ? `${least}${units}` : `${least} to ${most}${units}`];
};

const entries = [" entry", " entries"] as const;

const factsHtml = (schema: JsonObject): string => {
  const facts = [
    ...(schema.const === undefined ? [] : [`always ${codeHtml(schema.const)}`]),
    ...(schema.default === undefined ? [] : [`default: ${codeHtml(schema.default)}`]),
    ...patternHtml(schema),
    ...rangeHtml(schema.minLength, schema.maxLength, [" character", " characters"]),
    ...rangeHtml(schema.minimum, schema.maximum, ""),
    ...rangeHtml(schema.minItems, schema.maxItems, entries),
    ...rangeHtml(schema.minProperties, schema.maxProperties, entries),
  ];
  if (schema.readOnly === true) facts.unshift("set by the server");
  if (schema.writeOnly === true) facts.unshift("never returned");
  if (schema.deprecated === true) facts.unshift("deprecated");
  const listed = Array.isArray(schema.enum)
    ? `<p class="quiet">${schema.enum.map((value) => `<code>${escapeHtml(valueText(value))}</code>`).join(", ")}</p>`
    : "";
  return `${listed}${facts.length > 0 ? `<p class="quiet">${facts.join("; ")}</p>` : ""}`;
};

/** Of a list's entries or a map's values. */
const innerObject = (resolve: Resolve, given: JsonObject): { schema: JsonObject; name: string } => {
  let found = resolve(given);
  for (let depth = 0; depth < 4; depth++) {
    const { schema } = found;
    if (Object.keys(part(schema, "properties")).length > 0) return found;
    const next = isObject(schema.items) ? schema.items : isObject(schema.additionalProperties) ? schema.additionalProperties : alternativesOf(schema)[0];
    if (next === undefined) return found;
    found = resolve(next);
  }
  return found;
};

const depthMax = 6;

/** Label of required fields: only in requests. */
type RequiredWord = "required" | "";

interface Words {
  readonly resolve: Resolve;
  readonly describe: Describe;
  readonly requiredWord: RequiredWord;
}

const fieldHtml = (words: Words, name: string, field: JsonObject, required: RequiredWord, within: readonly string[]): string => {
  const { resolve, describe } = words;
  const { schema } = resolve(field);
  const inner = innerObject(resolve, field);
  const again = inner.name !== "" && within.includes(inner.name);
  const fields = again || within.length >= depthMax ? "" : fieldsHtml(words, inner.schema, [...within, inner.name]);
  return (
    `<dt><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(typeWords(resolve, field))}</span>` +
    `${required === "" ? "" : ` <span class="must">${required}</span>`}</dt>` +
    `<dd>${describe(text(schema, "description"))}${factsHtml(schema)}` +
    `${fields === "" ? "" : `<details><summary>Fields of <code>${escapeHtml(name)}</code></summary>${fields}</details>`}</dd>`
  );
};

/** Keeps the order otherwise. */
export const requiredFirst = <T>(all: readonly T[], isRequired: (each: T) => boolean): T[] => [
  ...all.filter(isRequired),
  ...all.filter((each) => !isRequired(each)),
];

/** `within`: names of the enclosing messages. */
const fieldsHtml = (words: Words, schema: JsonObject, within: readonly string[]): string => {
  const must = new Set(texts(schema, "required"));
  const rows = requiredFirst(Object.entries(part(schema, "properties")), ([name]) => words.requiredWord !== "" && must.has(name)).map(([name, field]) =>
    isObject(field) ? fieldHtml(words, name, field, must.has(name) ? words.requiredWord : "", within) : "",
  );
  return rows.length > 0 ? `<dl class="fields">${rows.join("")}</dl>` : "";
};

/** Renders the fields of a body or response, or its type if it has none. */
export const schemaHtml = (words: Words, given: JsonObject): string => {
  const { resolve } = words;
  const { schema, name } = innerObject(resolve, given);
  const fields = fieldsHtml(words, schema, [name]);
  return fields === "" ? `<p>${escapeHtml(typeWords(resolve, given))}</p>${factsHtml(resolve(given).schema)}` : fields;
};

/** Renders one named value, such as a parameter. */
export const parameterHtml = (words: Words, parameter: { shownName: string; required: boolean; description: string; schema: JsonObject }): string =>
  fieldHtml(words, parameter.shownName, { ...parameter.schema, description: parameter.description }, parameter.required ? "required" : "", []);
