// JSON Schema of contract messages for tools. It never refuses what the server accepts: patterns are only described, and the server
// reports violations.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { contractTexts } from "#contract/gen/texts.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";

/** "in" is for arguments, with descriptions; "out" for results. */
type Direction = "in" | "out";

/** Returns the contract's comment by full name, without the note about additive fields. */
export const commentOf = (name: string): string => (contractTexts[name] ?? "").replace(/ ?Additive: not part of the public message\.$/, "");

const valueSchema = (field: FieldFact, direction: Direction, above: readonly MessageFact[]): JsonObject => {
  switch (field.kind) {
    case "bool":
      return { type: "boolean" };
    case "int32":
      return { type: "integer" };
    case "double":
      return { type: "number" };
    // 64-bit integers are texts in JSON, but numbers are accepted.
    case "int64":
      return direction === "in" ? { type: ["string", "integer"] } : { type: "string" };
    case "enum":
      // Results are self-explanatory; listing all values would lengthen every conversation.
      return direction === "in" ? { type: "string", enum: [...(field.enum?.numbers.keys() ?? [])] } : { type: "string" };
    case "timestamp":
      return direction === "in" ? { type: "string", format: "date-time" } : { type: "string" };
    case "message":
      // Ends recursion.
      return field.message && !above.includes(field.message) ? messageSchema(field.message, direction, above) : { type: "object" };
    case "any":
      return { type: "object" };
    default:
      return { type: "string" };
  }
};

const shapeSchema = (field: FieldFact, direction: Direction, above: readonly MessageFact[]): JsonObject => {
  const value = valueSchema(field, direction, above);
  if (field.shape === "list") return { type: "array", items: value };
  return field.shape === "map" ? { type: "object", additionalProperties: value } : value;
};

/** Constraints that only the server checks. */
const hintOf = ({ pattern, example, kind }: FieldFact): string =>
  [...(kind === "string" && pattern !== undefined ? [`Form: ${pattern}`] : []), ...(example === "" ? [] : [`Example: ${example}`])].join(". ");

const ownTexts: Readonly<Record<string, string>> = {
  page_size: `Entries per page: ${limits.mcpItemsMax} when absent, and at most.`,
  page_token: "nextPageToken of the page before; absent for the first page.",
};

const fieldSchema = (owner: MessageFact, field: FieldFact, direction: Direction, above: readonly MessageFact[]): JsonObject => {
  const schema = shapeSchema(field, direction, above);
  if (direction === "out") return schema;
  const text = (above.length === 1 ? ownTexts[field.name] : undefined) ?? commentOf(`${owner.name}.${field.name}`);
  const description = [text, hintOf(field)].filter((part) => part !== "").join(" ");
  return description === "" ? schema : { ...schema, description };
};

const messageSchema = (message: MessageFact, direction: Direction, above: readonly MessageFact[] = []): JsonObject => {
  const within = [...above, message];
  const fields = message.fields.filter((field) => !field.version1Only && !(direction === "in" && above.length > 0 && field.outputOnly && !field.uid));
  return { type: "object", properties: Object.fromEntries(fields.map((field) => [field.json, fieldSchema(message, field, direction, within)])) };
};

/** Required by the contract, or part of every path. */
const requiredOf = ({ input, http }: MethodFact): string[] => {
  const inEveryPath = (name: string): boolean =>
    http.length > 0 && http.every(({ template }) => [".", "=", "}"].some((end) => template.includes(`{${name}${end}`)));
  return input.fields.filter(({ required, name }) => required || inEveryPath(name)).map(({ json }) => json);
};

/** A type, not an interface: the SDK's type has an index signature. */
export type ObjectSchema = { readonly type: "object"; readonly properties: JsonObject; readonly required?: string[] };

const propertiesOf = (message: MessageFact, direction: Direction): JsonObject => {
  const { properties } = messageSchema(message, direction);
  return typeof properties === "object" && properties !== null && !Array.isArray(properties) ? properties : {};
};

/** @param more arguments in addition to the message's fields */
export const inputSchemaOf = (method: MethodFact, more: JsonObject): ObjectSchema => {
  const required = requiredOf(method);
  return { type: "object", properties: { ...propertiesOf(method.input, "in"), ...more }, ...(required.length > 0 ? { required } : {}) };
};

export const outputSchemaOf = (method: MethodFact): ObjectSchema => ({ type: "object", properties: propertiesOf(method.output, "out") });
