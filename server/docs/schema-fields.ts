// Renders a JSON schema as a list of fields: name, type and description. Nested fields can be expanded; recursive messages are
// rendered once.

import { escapeHtml } from "#base/html.ts";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
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
  return `${types.join(" or ") || name || "anything"}${format === "" ? "" : ` (${format})`}`;
};

const valueText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const bounds: readonly (readonly [key: string, words: string])[] = [
  ["const", "is"],
  ["default", "unless given"],
  ["pattern", "matches"],
  ["minLength", "characters, at least"],
  ["maxLength", "characters, at most"],
  ["minimum", "at least"],
  ["maximum", "at most"],
  ["minItems", "entries, at least"],
  ["maxItems", "entries, at most"],
  ["maxProperties", "entries, at most"],
];

const factsHtml = (schema: JsonObject): string => {
  const facts = bounds.flatMap(([key, words]) => {
    const value = schema[key];
    return value === undefined ? [] : [`${words} <code>${escapeHtml(valueText(value))}</code>`];
  });
  if (schema.readOnly === true) facts.unshift("set by the server");
  if (schema.writeOnly === true) facts.unshift("never shown");
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

/** `within`: names of the enclosing messages. */
const fieldsHtml = (words: Words, schema: JsonObject, within: readonly string[]): string => {
  const must = new Set(texts(schema, "required"));
  const rows = Object.entries(part(schema, "properties")).map(([name, field]) =>
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
export const parameterHtml = (words: Words, parameter: { name: string; required: boolean; description: string; schema: JsonObject }): string =>
  fieldHtml(words, parameter.name, { ...parameter.schema, description: parameter.description }, parameter.required ? "required" : "", []);
