// Builds the OpenAPI documents from facts and comments of the contract: one for everything except version 1, one per domain, one
// for version 1. tools/openapi.ts writes them, and the server serves them.

import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { methods, version1 } from "../catalog.ts";
import { type EventFact, type HttpFact, isViewed, type MethodFact } from "../facts.ts";
import { addErrorSchemas, answersOf, type Errors, errorResponses, sharedHeaders } from "./answers.ts";
import { pathsBeside, tagsBeside } from "./beside.ts";
import { fieldsWithRules } from "./earlier-fields.ts";
import { withEarlierTexts } from "./earlier-texts.ts";
import { currentSchemaNameOf, documentOf, operationIdOf, tagOf, version1Document } from "./names.ts";
import {
  takesForm,
  formSchema,
  hasCurrentState,
  mayEndBefore,
  parametersOf,
  type PathField,
  pathFieldsOf,
  pathParameter,
  sharedParameters,
} from "./parameters.ts";
import { basicText, bearerText, descriptionOf, textsOf } from "./prose.ts";
import { codeSamples, type RecordedSamples } from "./samples.ts";
import { openSchemas, type Schemas, type Texts } from "./schemas.ts";

/** Recorded requests and responses, by operation ID. */
export interface Example {
  readonly request?: Json;
  readonly answer?: Json;
  /** Media type, if the response is a file. */
  readonly type?: string;
}

export type Examples = Readonly<Record<string, Example>>;

export interface Sources {
  /** contract/gen/texts.ts */
  readonly comments: Texts;
  readonly examples: Examples;
  /** For version 1, whose operation IDs may equal those of version 2. */
  readonly earlierExamples: Examples;
  /** Recorded errors by subject, each with `status` and `body` (test/golden/errors.json). */
  readonly errors: Errors;
  /** The same for version 1 (test/golden/errors-version-1.json). */
  readonly earlierErrors: Errors;
  readonly samples: RecordedSamples;
}

interface Binding {
  readonly method: MethodFact;
  readonly http: HttpFact;
  readonly operationId: string;
  /** With fields in JSON names. */
  readonly template: string;
  readonly inPath: readonly PathField[];
}

const withRules = fieldsWithRules(version1);

const bindingsOf = (method: MethodFact): Binding[] => {
  const rules = method.http.flatMap((http): HttpFact[] =>
    mayEndBefore(method, http) ? [http, { ...http, template: http.template.slice(0, http.template.lastIndexOf("/{")) }] : [http],
  );
  return rules.map((http, index) => ({
    method,
    http,
    operationId: operationIdOf(method, index),
    template: http.template,
    inPath: pathFieldsOf(method, http.template, withRules),
  }));
};

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Unifies parameter names: OpenAPI treats paths that differ only in parameter names as equal. The name of the resource itself wins. */
const namesInPath = (bindings: readonly Binding[]): Map<string, string[]> => {
  const names = new Map<string, string[]>();
  for (const { template, inPath } of bindings) {
    const form = template.replace(/\{[^{}]*\}/g, "{}");
    const own = inPath.map(({ path }) => camelCase(path.slice(path.lastIndexOf(".") + 1)));
    const held = names.get(form);
    names.set(
      form,
      held === undefined ? own : own.map((name, index) => ["uid", "id"].find((each) => each === name || each === held[index]) ?? held[index] ?? name),
    );
  }
  return names;
};

const sentence = /^.*?[.:!?](?=\s|$)/s;

const firstSentenceOf = (text: string): string => (sentence.exec(text)?.[0] ?? text).replace(/[.:]$/, "").replaceAll("\n", " ");

const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");

const accessText = (method: MethodFact): string => {
  const { capabilities, open, unscoped, scope, anonymous, groupFilter } = method;
  if (open && capabilities.length === 0) return "Open: no token required.";
  if (open) return `Open; if the request names a group (\`${groupFilter ?? ""}\`), the caller requires ${listed(capabilities)} there.`;
  const anyone = anonymous ? " Public data is returned without a token, too." : "";
  if (capabilities.length === 0) return `Requires a token, but no capability.${anyone}`;
  if (unscoped && method.writes) return `Requires ${listed(capabilities)} at the new parent.${anyone}`;
  if (unscoped) return `Requires ${listed(capabilities)}. The response covers the groups where the caller has it, and their descendants.${anyone}`;
  return `Requires ${listed(capabilities)} at \`${(scope ?? []).at(-1) ?? ""}\`.${anyone}`;
};

const eventText = (event: EventFact | undefined): string =>
  event === undefined ? "" : event.audience === "customer" ? `Records the event \`${event.type}\`.` : `Records \`${event.type}\` in the audit log only.`;

const withoutToken = (method: MethodFact): boolean => method.anonymous || method.givesFile || method.service === "gantry.feeds.v1.OsvService";

const securityOf = (method: MethodFact): Json => {
  if (method.credentials) return [{ bearer: [] }];
  if (method.open && method.capabilities.length === 0) return [];
  return [...(method.open || withoutToken(method) ? [{}] : []), { bearer: [] }, ...(method.basic ? [{ basic: [] }] : [])];
};

const paragraphs = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");

const requestBodyOf = (schemas: Schemas, { method, http, inPath }: Binding): JsonObject | undefined => {
  if (takesForm(http)) return { content: { "application/x-www-form-urlencoded": { schema: formSchema(schemas, method) } } };
  if (http.body === "") return undefined;
  const left = new Set(inPath.flatMap(({ path, field }) => (path.includes(".") ? [] : [field.json])));
  const field = http.body === "*" ? undefined : method.input.byName.get(http.body);
  const isUpdate = method.input.byName.has("update_mask") || http.verb === "PATCH" || http.verb === "PUT";
  const schema: JsonObject =
    field === undefined
      ? schemas.ofBody(method.input, left, method.version !== "v1" || isViewed(method))
      : field.shape === "list"
        ? schemas.ofField(method.input, field, "request")
        : schemas.ofMessage(field.message ?? method.input, isUpdate ? "update" : "request");
  return { required: true, content: { "application/json": { schema } } };
};

/**
 * Returns the recorded example. Other paths of the operation have the same response, and the same body if it is one field; files
 * differ.
 */
const exampleOf = ({ method, http, operationId }: Binding, examples: Examples): Example | undefined => {
  const own = examples[operationId];
  if (own !== undefined || method.givesFile) return own;
  for (const other of bindingsOf(method)) {
    const found = examples[other.operationId];
    if (found === undefined) continue;
    const { request: _, ...answered } = found;
    return http.body !== "" && http.body !== "*" && http.body === other.http.body ? found : answered;
  }
  return undefined;
};

/** Puts the content type with the example first, because readers show the first. */
const contentWith = (content: JsonObject, type: string, example: Json): JsonObject => {
  const { [type]: media, ...others } = content;
  return isObject(media) ? { [type]: { ...media, example }, ...others } : content;
};

const withExample = (operation: JsonObject, { request, answer, type = "application/json" }: Example): JsonObject => {
  const { requestBody } = operation;
  const responses = part(operation, "responses");
  const good = part(responses, "200");
  const sent = part(part(operation, "requestBody"), "content");
  return {
    ...operation,
    ...(request === undefined || !isObject(requestBody)
      ? {}
      : { requestBody: { ...requestBody, content: contentWith(sent, Object.keys(sent)[0] ?? "", request) } }),
    ...(answer === undefined || !isObject(good.content)
      ? {}
      : { responses: { ...responses, "200": { ...good, content: contentWith(good.content, type, answer) } } }),
  };
};

const operationOf = (schemas: Schemas, texts: Texts, examples: Examples, binding: Binding, names: readonly string[]): JsonObject => {
  const { method, http, operationId, inPath } = binding;
  const text = texts[method.name] ?? "";
  const hasEtag = hasCurrentState(method, methods);
  const requestBody = requestBodyOf(schemas, binding);
  const parameters = [
    ...inPath.map((found, index) => pathParameter(texts, found, names[index] ?? found.field.json)),
    ...parametersOf(schemas, texts, method, http, { inPath, hasEtag }),
  ];
  const isDeprecated = method.deprecated;
  const root = mayEndBefore(method, method.http[0] ?? http) && inPath.length === 0 ? "Without a parent: an organization, at the root." : "";
  const operation: JsonObject = {
    operationId,
    tags: [tagOf(method)],
    summary: firstSentenceOf(text),
    description: paragraphs(text, root, accessText(method), eventText(method.event)),
    ...(isDeprecated ? { deprecated: true } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: answersOf(schemas, method, http, {
      hasEtag,
      hasBody: requestBody !== undefined,
      // The operation's comment states what is not served; test/conformance checks that.
      isUnserved: text.includes("UNIMPLEMENTED (501)"),
    }),
    security: securityOf(method),
  };
  return withExample(operation, exampleOf(binding, examples) ?? {});
};

const securitySchemes: JsonObject = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: bearerText,
  },
  basic: {
    type: "http",
    scheme: "basic",
    description: basicText,
  },
};

const referredFrom = (value: Json, all: JsonObject, found: Set<string>): void => {
  if (Array.isArray(value)) for (const entry of value) referredFrom(entry, all, found);
  else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const name = key === "$ref" && typeof inner === "string" && inner.startsWith("#/components/") ? inner.slice("#/components/".length) : undefined;
      if (name === undefined) referredFrom(inner, all, found);
      else if (!found.has(name)) {
        found.add(name);
        const [kind = "", part = ""] = name.split("/");
        const held = all[kind];
        if (typeof held === "object" && held !== null && !Array.isArray(held)) referredFrom(held[part] ?? null, all, found);
      }
    }
  }
};

const componentsFor = (paths: JsonObject, all: JsonObject): JsonObject => {
  const found = new Set<string>();
  referredFrom(paths, all, found);
  const used = Object.entries(all).map(([kind, parts]): [string, Json] => [
    kind,
    Object.fromEntries(Object.entries(parts as JsonObject).filter(([name]) => kind === "securitySchemes" || found.has(`${kind}/${name}`))),
  ]);
  return Object.fromEntries(used.filter(([, parts]) => Object.keys(parts as JsonObject).length > 0));
};

interface Shared {
  readonly components: JsonObject;
  readonly tags: Readonly<Record<string, string>>;
  readonly samples: RecordedSamples;
}

const documentFrom = (name: string, entries: readonly Entry[], { components, tags, samples }: Shared): JsonObject => {
  const paths: JsonObject = {};
  for (const { path, verb, operation, method } of entries) {
    const sampled = { ...operation, "x-codeSamples": codeSamples(operation, verb, path, method, samples) };
    paths[path] = { ...(paths[path] as JsonObject | undefined), [verb]: sampled };
  }
  const sorted = Object.fromEntries(Object.entries(paths).sort(([one], [other]) => (one < other ? -1 : 1)));
  const used = [...new Set(entries.flatMap(({ operation }) => operation.tags as string[]))].sort();
  return {
    openapi: "3.1.1",
    info: {
      title: name === "whole" ? "Gantry" : `Gantry: ${name}`,
      version: name === version1Document ? "v1" : "v2",
      description: descriptionOf(name),
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This server." }],
    tags: used.map((tag) => ({ name: tag, description: tags[tag] ?? "" })),
    paths: sorted,
    components: componentsFor(sorted, components),
  };
};

interface Entry {
  readonly document: string;
  readonly path: string;
  readonly verb: string;
  readonly operation: JsonObject;
  /** The operation of the contract. */
  readonly method?: string;
}

const entriesOf = (schemas: Schemas, texts: Texts, examples: Examples, from: readonly MethodFact[]): Entry[] => {
  const bindings = from.flatMap(bindingsOf);
  const names = namesInPath(bindings);
  return bindings.map((binding) => {
    const own = names.get(binding.template.replace(/\{[^{}]*\}/g, "{}")) ?? [];
    let at = 0;
    const path = binding.template.replace(/\{[^{}]*\}/g, () => `{${own[at++] ?? ""}}`);
    return {
      document: documentOf(binding.method),
      path,
      verb: binding.http.verb.toLowerCase(),
      operation: operationOf(schemas, texts, examples, binding, own),
      method: binding.method.name,
    };
  });
};

const requireDistinctIds = (entries: readonly Entry[]): void => {
  const seen = new Set<string>();
  for (const { operation, path } of entries) {
    const id = String(operation.operationId);
    if (seen.has(id)) throw new Error(`two operations are called ${id}; one is at ${path}`);
    seen.add(id);
  }
};

const tagTexts = (texts: Texts, from: readonly MethodFact[]): Record<string, string> => ({
  ...Object.fromEntries(from.map((method) => [tagOf(method), texts[method.service] ?? ""])),
  ...tagsBeside,
});

const componentsOf = (schemas: Schemas, errors: Errors): JsonObject => ({
  schemas: schemas.all(),
  parameters: sharedParameters,
  headers: sharedHeaders,
  responses: errorResponses(errors),
  securitySchemes,
});

/** Returns every document by name: "whole", the domains, "v1". */
export const openApiDocuments = (sources: Sources): ReadonlyMap<string, JsonObject> => {
  const documents = new Map<string, JsonObject>();
  const texts = withEarlierTexts(textsOf(sources.comments), version1);
  const current = openSchemas(texts, undefined, currentSchemaNameOf);
  addErrorSchemas(current, false);
  const operations = entriesOf(current, texts, sources.examples, methods);
  const names = [...new Set([...operations.map(({ document }) => document), "health", version1Document])].sort();
  const beside = pathsBeside(names).map((each) => ({
    ...each,
    operation: withExample(each.operation, sources.examples[text(each.operation, "operationId")] ?? {}),
  }));
  const entries = [...operations, ...beside];
  requireDistinctIds(entries);
  const shared: Shared = { components: componentsOf(current, sources.errors), tags: tagTexts(texts, methods), samples: sources.samples };
  documents.set("whole", documentFrom("whole", entries, shared));
  for (const name of names.filter((each) => each !== version1Document)) {
    documents.set(
      name,
      documentFrom(
        name,
        entries.filter(({ document }) => document === name),
        shared,
      ),
    );
  }
  const earlier = openSchemas(texts, withRules);
  addErrorSchemas(earlier, true);
  const earlierEntries = entriesOf(earlier, texts, sources.earlierExamples, version1);
  requireDistinctIds(earlierEntries);
  const earlierShared: Shared = { components: componentsOf(earlier, sources.earlierErrors), tags: tagTexts(texts, version1), samples: sources.samples };
  documents.set(version1Document, documentFrom(version1Document, earlierEntries, earlierShared));
  return documents;
};
