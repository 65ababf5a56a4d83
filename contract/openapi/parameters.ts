// An operation's parameters: what its path holds, what its query says, and which headers it heeds. Pure.
//
// In a query fields have their proto names ("page_size"), which is how errors name them; `updateMask` and `validateOnly` are spelled as
// the specification spells them. The server takes camelCase for all.

import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { FieldFact, HttpFact, MessageFact, MethodFact } from "../facts.ts";
import { idempotencyText } from "./prose.ts";
import { notEmpty, uidPattern, type Schemas, type Texts } from "./schemas.ts";

/** A field of a path, in the order of the path. */
export interface PathField {
  /** "role_binding.uid", as in the contract's template. */
  readonly path: string;
  readonly owner: MessageFact;
  readonly field: FieldFact;
}

/** The fields that a template names. */
export const pathFieldsOf = (
  { input }: Pick<MethodFact, "input">,
  template: string,
  withRules: (field: FieldFact) => FieldFact = (field) => field,
): PathField[] =>
  [...template.matchAll(/\{([a-z0-9_.]+)(?:=\*\*?)?\}/g)].map(([, path = ""]) => {
    let owner = input;
    let field: FieldFact | undefined;
    for (const name of path.split(".")) {
      if (field?.message) owner = field.message;
      field = owner.byName.get(name);
      if (!field) throw new Error(`${input.name} has no field ${path}, which ${template} names`);
    }
    if (!field) throw new Error(`${template} names no field`);
    return { path, owner, field: withRules(field) };
  });

/** True where the path may end before the field: what is made then lies at the root. */
export const mayEndBefore = ({ view, output }: MethodFact, http: HttpFact): boolean => {
  const name = (view?.of ?? { rpc: "" }).rpc;
  return http.verb === "POST" && http.template.endsWith("=**}") && output.short === "Group" && (name === "" || name === "CreateGroup");
};

const spellings: Readonly<Record<string, string>> = { update_mask: "updateMask" };

/** What is wrong with a value of a path is said of its field. */
const pathSchema = ({ field }: PathField): JsonObject => ({
  type: "string",
  minLength: 1,
  ...(field.uid ? { pattern: uidPattern } : field.pattern === undefined ? {} : { pattern: field.pattern }),
  ...(field.maxLength > 0 ? { maxLength: field.maxLength } : {}),
  ...(field.example === "" ? {} : { examples: [field.example] }),
});

export const pathParameter = (texts: Texts, found: PathField, name: string): JsonObject => {
  const { owner, field } = found;
  const refersTo = field.refersTo === "" ? "" : ` Uid of a ${field.refersTo.slice(field.refersTo.lastIndexOf(".") + 1)}.`;
  const slashes = field.uid ? " Its slashes can be percent-encoded." : "";
  return {
    name,
    in: "path",
    required: true,
    description: `${texts[`${owner.name}.${field.name}`] ?? ""}${refersTo}${slashes}`.trim(),
    schema: pathSchema(found),
  };
};

/** The fields by which a list can be ordered. Those of version 1 have the orders of what they are a view of, which refuses any other. */
const orderedBy = (asked: MethodFact, field: FieldFact): { readonly text: string; readonly schema: JsonObject } => {
  // Of the values that version 1 has, some are orders of what is here.
  if (field.enum) return { text: "", schema: field.enum.written.size > 0 ? { enum: [...field.enum.written.keys()] } : {} };
  const method = asked.view?.of ?? asked;
  const rows = method.output.fields.find(({ shape, message }) => shape === "list" && message)?.message;
  const fields = (rows?.fields ?? []).filter(({ sortable }) => sortable);
  if (fields.length === 0) return { text: "", schema: {} };
  const shown = fields.map(({ name, orderAliases }) => [name, ...orderAliases].map((each) => `\`${each}\``).join(" or "));
  const names = [...new Set(fields.flatMap(({ name, json, orderAliases }) => [name, json, ...orderAliases]))];
  return {
    text: `One of ${shown.join(", ")}; when absent \`${method.defaultOrder}\`.`,
    schema: { pattern: `^(?:${names.join("|")})(?: (?:asc|desc))?$` },
  };
};

const pagingSchemas: Readonly<Record<string, JsonObject>> = {
  page_size: { minimum: 0, default: limits.pageSizeDefault },
  skip: { minimum: 0, default: 0 },
};

const withText = (description: string, more: string): string => [description, more].filter((text) => text !== "").join(" ");

interface QueryField {
  readonly name: string;
  readonly owner: MessageFact;
  readonly field: FieldFact;
}

/** Every field that a query can say, nested ones by their path. A map and a message in a message cannot stand there. */
const queryFieldsOf = (message: MessageFact, left: ReadonlySet<string>, prefix = "", depth = 0): QueryField[] =>
  message.fields.flatMap((field): QueryField[] => {
    const name = prefix === "" ? (spellings[field.name] ?? field.name) : `${prefix}.${field.name}`;
    if (left.has(field.json) || field.outputOnly || field.shape === "map") return [];
    if (field.kind !== "message" || field.shape === "list") return [{ name, owner: message, field }];
    return field.message && depth < 3 ? queryFieldsOf(field.message, nothing, name, depth + 1) : [];
  });

const nothing: ReadonlySet<string> = new Set();

/** A message of a list is written as JSON, or in its short form. */
const entryText = ({ writtenAs, shape, message }: FieldFact): string => {
  if (shape !== "list" || !message) return "";
  return writtenAs ? `Each is written \`${writtenAs[0]}\`, \`${writtenAs[0]}:${writtenAs[1]},…\` or as a JSON object.` : "Each is written as a JSON object.";
};

const querySchema = (schemas: Schemas, { owner, field }: QueryField): JsonObject => {
  const { description: _description, readOnly: _readOnly, writeOnly: _writeOnly, ...schema } = schemas.ofField(owner, field, "request");
  const paging = field.shape === "one" ? pagingSchemas[field.name] : undefined;
  if (paging && field.kind === "int32") return { ...schema, ...paging };
  if (field.shape === "list" && field.message) return { ...schema, items: { type: "string", format: field.writtenAs ? field.writtenAs.join("-") : "json" } };
  return schema;
};

const queryParameter = (schemas: Schemas, texts: Texts, method: MethodFact, found: QueryField): JsonObject => {
  const { name, owner, field } = found;
  const order = field.name === "order_by" ? orderedBy(method, field) : undefined;
  const more = order?.text ?? entryText(field);
  const several = field.shape === "list" ? "Repeatable." : "";
  const { deprecated, ...schema } = querySchema(schemas, found);
  return {
    name,
    in: "query",
    ...(field.required && field.kind !== "bool" ? { required: true } : {}),
    ...(deprecated === true ? { deprecated: true } : {}),
    description: withText(withText(texts[`${owner.name}.${field.name}`] ?? "", more), several),
    schema: { ...schema, ...order?.schema, ...(field.required ? notEmpty(field) : {}) },
    ...(field.shape === "list" ? { style: "form", explode: true } : {}),
  };
};

/** The fields that go into a form: the token exchange reads one, and nothing else does (authentication, 3). */
export const takesForm = (http: HttpFact): boolean => http.verb === "POST" && http.body === "";

/** The schema of such a form. */
export const formSchema = (schemas: Schemas, { input }: MethodFact): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(
    queryFieldsOf(input, nothing).map((found): [string, Json] => [found.name, schemas.ofField(found.owner, found.field, "request")]),
  ),
  additionalProperties: false,
});

const headerReference = (name: string): JsonObject => ({ $ref: `#/components/parameters/${name}` });

/** True for a write that can be tried and repeated (decisions: Safe writes). */
export const isRehearsable = ({ writes, credentials }: MethodFact): boolean => writes && !credentials;

/**
 * True for the Get, Update and Delete of a resource whose state an ETag names: something reads it again (AIP-131, AIP-134, AIP-135).
 * Files of the feed have one, too.
 */
export const hasCurrentState = (method: MethodFact, all: readonly MethodFact[]): boolean => {
  const of = method.view?.of ?? method;
  if (of.service.startsWith("gantry.feeds.")) return of.http[0]?.verb === "GET";
  const [, verb, noun] = /^(Get|Update|Delete)(.+)$/.exec(of.rpc) ?? [];
  return all.some(
    ({ rpc, service, output }) =>
      rpc === `Get${noun}` && output.byName.has("uid") && (verb === "Delete" ? service === of.service : output.name === of.output.name),
  );
};

/** Every parameter of one binding of an operation but those of its path. */
export const parametersOf = (
  schemas: Schemas,
  texts: Texts,
  method: MethodFact,
  http: HttpFact,
  given: { readonly inPath: readonly PathField[]; readonly hasEtag: boolean },
): JsonObject[] => {
  const left = new Set(given.inPath.flatMap(({ path, field }) => (path.includes(".") ? [] : [field.json])));
  if (http.body !== "" && http.body !== "*") left.add(http.body);
  // Where the path ends before its field, that is empty.
  if (given.inPath.length === 0) for (const { template } of method.http) for (const { field } of pathFieldsOf(method, template)) left.add(field.json);
  const inQuery = http.body === "*" || takesForm(http) ? [] : queryFieldsOf(method.input, left);
  const shared: JsonObject[] = [];
  if (isRehearsable(method)) shared.push(headerReference("validateOnly"));
  if (method.writes && !method.open) shared.push(headerReference("IdempotencyKey"));
  if (given.hasEtag) shared.push(headerReference(method.writes ? "IfMatch" : "IfNoneMatch"));
  return [...inQuery.map((found) => queryParameter(schemas, texts, method, { ...found, field: schemas.withRules(found.field) })), ...shared];
};

/** What several operations have. */
export const sharedParameters: JsonObject = {
  validateOnly: {
    name: "validateOnly",
    in: "query",
    description: "`true`: validates the request without changing anything. The response is the same, without secrets that are shown once.",
    schema: { type: "boolean", default: false },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: idempotencyText,
    schema: { type: "string", pattern: `^[!-~]{1,${limits.idempotencyKeyLengthMax}}$` },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "`ETag` of the resource as last read, or `*`. If it has changed since, nothing is changed and the response is 412.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "`ETag` of the resource as last read. If it is unchanged, the response is 304 without a body.",
    schema: { type: "string" },
  },
};
