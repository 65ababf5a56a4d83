// Parameters of operations in OpenAPI: path, query and headers.
//
// Query fields have proto names ("page_size"), as in errors, except `updateMask` and `validateOnly`, which follow the
// specification. The server accepts camelCase for all.

import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { FieldFact, HttpFact, MessageFact, MethodFact } from "../facts.ts";
import { idempotencyText } from "./prose.ts";
import { notEmpty, uidPattern, type Schemas, type Texts } from "./schemas.ts";

/** A field in the path, in order. */
export interface PathField {
  /** "role_binding.uid", as in the contract's template. */
  readonly path: string;
  readonly owner: MessageFact;
  readonly field: FieldFact;
}

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

/** Returns true if the path may end before the field, which creates the resource at the root. */
export const mayEndBefore = ({ view, output }: MethodFact, http: HttpFact): boolean => {
  const name = (view?.of ?? { rpc: "" }).rpc;
  return http.verb === "POST" && http.template.endsWith("=**}") && output.short === "Group" && (name === "" || name === "CreateGroup");
};

const spellings: Readonly<Record<string, string>> = { update_mask: "updateMask" };

/** Errors name the field of a path value. */
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
    // Operations of one path share its names, so a parent is called uid too.
    ...(name === field.json ? {} : { "x-field": field.json }),
    description: `${texts[`${owner.name}.${field.name}`] ?? ""}${refersTo}${slashes}`.trim(),
    schema: pathSchema(found),
  };
};

/** Returns the sort fields of a list. Version 1 uses those of its counterpart. */
const orderedBy = (asked: MethodFact, field: FieldFact): { readonly text: string; readonly schema: JsonObject } => {
  // Only some enum values of version 1 are valid orders.
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

/** Returns all query fields, nested ones by path. Maps and doubly nested messages are not possible. */
const queryFieldsOf = (message: MessageFact, left: ReadonlySet<string>, prefix = "", depth = 0): QueryField[] =>
  message.fields.flatMap((field): QueryField[] => {
    const name = prefix === "" ? (spellings[field.name] ?? field.name) : `${prefix}.${field.name}`;
    if (left.has(field.json) || field.outputOnly || field.shape === "map") return [];
    if (field.kind !== "message" || field.shape === "list") return [{ name, owner: message, field }];
    return field.message && depth < 3 ? queryFieldsOf(field.message, nothing, name, depth + 1) : [];
  });

const nothing: ReadonlySet<string> = new Set();

/** A message in a list is JSON or its short form. */
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

/** Returns whether the operation takes a form: only the token exchange does (authentication, 3). */
export const takesForm = (http: HttpFact): boolean => http.verb === "POST" && http.body === "";

export const formSchema = (schemas: Schemas, { input }: MethodFact): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(
    queryFieldsOf(input, nothing).map((found): [string, Json] => [found.name, schemas.ofField(found.owner, found.field, "request")]),
  ),
  additionalProperties: false,
});

const headerReference = (name: string): JsonObject => ({ $ref: `#/components/parameters/${name}` });

/** Returns true for writes that support validateOnly and retries (decisions: Safe writes). */
export const isRehearsable = ({ writes, credentials }: MethodFact): boolean => writes && !credentials;

/**
 * Returns true for Get, Update and Delete of a resource with an ETag, which something must read again (AIP-131, AIP-134,
 * AIP-135), for creates that replace what exists, and for feed files.
 */
export const hasCurrentState = (method: MethodFact, all: readonly MethodFact[]): boolean => {
  const of = method.view?.of ?? method;
  if (of.conditional) return true;
  if (of.service.startsWith("gantry.feeds.")) return of.http[0]?.verb === "GET";
  const [, verb, noun] = /^(Get|Update|Delete)(.+)$/.exec(of.rpc) ?? [];
  return all.some(
    ({ rpc, service, output }) =>
      rpc === `Get${noun}` && output.byName.has("uid") && (verb === "Delete" ? service === of.service : output.name === of.output.name),
  );
};

/** Returns the parameters of one binding, except those in the path. */
export const parametersOf = (
  schemas: Schemas,
  texts: Texts,
  method: MethodFact,
  http: HttpFact,
  given: { readonly inPath: readonly PathField[]; readonly hasEtag: boolean },
): JsonObject[] => {
  const left = new Set(given.inPath.flatMap(({ path, field }) => (path.includes(".") ? [] : [field.json])));
  if (http.body !== "" && http.body !== "*") left.add(http.body);
  // If the path ends before its field, the field is empty.
  if (given.inPath.length === 0) for (const { template } of method.http) for (const { field } of pathFieldsOf(method, template)) left.add(field.json);
  const inQuery = http.body === "*" || takesForm(http) ? [] : queryFieldsOf(method.input, left);
  const shared: JsonObject[] = [];
  if (isRehearsable(method)) shared.push(headerReference("validateOnly"));
  if (method.writes && !method.open) shared.push(headerReference("IdempotencyKey"));
  if (given.hasEtag) shared.push(headerReference(method.writes ? "IfMatch" : "IfNoneMatch"));
  return [...inQuery.map((found) => queryParameter(schemas, texts, method, { ...found, field: schemas.withRules(found.field) })), ...shared];
};

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
