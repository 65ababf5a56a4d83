// Reads an OpenAPI document for the reference: operations by tag, with parameters and responses. Missing parts are empty, and broken
// references are empty objects.

import { isObject, type JsonObject, objectList, part, text, texts } from "#base/json.ts";

export interface OpenApiSource {
  /** Names for /openapi/{name}.json. */
  readonly names: readonly string[];
  readonly read: (name: string) => JsonObject | Promise<JsonObject>;
}

export interface Parameter {
  readonly name: string;
  /** The field's own name where the path calls it `uid`, such as `parent`. */
  readonly shownName: string;
  readonly place: "path" | "query" | "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonObject;
}

export interface Content {
  /** Possible media types; schema and example are of the first. */
  readonly types: readonly [string, ...string[]];
  /** Empty for a file. */
  readonly schema: JsonObject;
  /** As text; JSON is indented. */
  readonly example: string | undefined;
}

export interface OperationAnswer {
  readonly status: string;
  readonly description: string;
  readonly content: Content | undefined;
}

export interface Operation {
  readonly id: string;
  readonly verb: string;
  readonly path: string;
  /** With the fields' own names. */
  readonly shownPath: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly open: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: (Content & { readonly required: boolean; readonly description: string }) | undefined;
  readonly answers: readonly OperationAnswer[];
  readonly samples: readonly Sample[];
}

/** The request as code: `label` names the language or tool. */
export interface Sample {
  readonly label: string;
  readonly source: string;
}

export interface Tag {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

export interface Reference {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly Tag[];
  /** Follows a reference; returns the schema and its name, if any. */
  readonly resolve: (schema: JsonObject) => { readonly schema: JsonObject; readonly name: string };
}

const verbs = ["get", "head", "post", "put", "patch", "delete"];

/** "#/components/schemas/Group" */
const follow = (document: JsonObject, pointer: string): JsonObject => {
  let found: JsonObject = document;
  for (const step of pointer.replace(/^#\//, "").split("/")) found = part(found, step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return found;
};

const resolverOf =
  (document: JsonObject) =>
  (value: JsonObject): { schema: JsonObject; name: string } => {
    const pointer = text(value, "$ref");
    if (pointer === "") return { schema: value, name: "" };
    const { $ref: _, ...beside } = value;
    return { schema: { ...follow(document, pointer), ...beside }, name: pointer.slice(pointer.lastIndexOf("/") + 1) };
  };

const exampleOf = (media: JsonObject, schema: JsonObject): string | undefined => {
  const named = Object.values(part(media, "examples")).find(isObject);
  const list = schema.examples;
  const example = media.example ?? named?.value ?? (Array.isArray(list) ? list[0] : undefined);
  if (example === undefined) return undefined;
  return typeof example === "string" ? example : JSON.stringify(example, undefined, 2);
};

const describedContent = (resolve: Reference["resolve"], owner: JsonObject): Content | undefined => {
  const [first, ...others] = Object.entries(part(owner, "content"));
  if (!first || !isObject(first[1])) return undefined;
  const [type, media] = first;
  const schema = part(media, "schema");
  return { types: [type, ...others.map(([other]) => other)], schema, example: exampleOf(media, resolve(schema).schema) };
};

const parameterOf = (parameter: JsonObject): Parameter[] => {
  const place = text(parameter, "in");
  if (place !== "path" && place !== "query" && place !== "header") return [];
  const content = Object.values(part(parameter, "content")).find(isObject);
  return [
    {
      name: text(parameter, "name"),
      shownName: text(parameter, "x-field") || text(parameter, "name"),
      place,
      required: parameter.required === true,
      description: text(parameter, "description"),
      schema: content ? part(content, "schema") : part(parameter, "schema"),
    },
  ];
};

export const readReference = (name: string, document: JsonObject): Reference => {
  const resolve = resolverOf(document);
  const byTag = new Map<string, Operation[]>();
  for (const [path, item] of Object.entries(part(document, "paths"))) {
    if (!isObject(item)) continue;
    for (const verb of verbs) {
      const operation = item[verb];
      if (!isObject(operation)) continue;
      const [tag = "Other"] = texts(operation, "tags");
      const parameters = [...objectList(item, "parameters"), ...objectList(operation, "parameters")].flatMap((each) => parameterOf(resolve(each).schema));
      const sent = resolve(part(operation, "requestBody")).schema;
      const content = describedContent(resolve, sent);
      const listed = byTag.get(tag) ?? [];
      byTag.set(tag, listed);
      listed.push({
        id: text(operation, "operationId"),
        verb: verb.toUpperCase(),
        path,
        shownPath: parameters.reduce((shown, each) => shown.replace(`{${each.name}}`, `{${each.shownName}}`), path),
        tag,
        summary: text(operation, "summary"),
        description: text(operation, "description"),
        open: objectList(operation.security === undefined ? document : operation, "security").every((each) => Object.keys(each).length === 0),
        parameters,
        body: content && { ...content, required: sent.required === true, description: text(sent, "description") },
        answers: Object.entries(part(operation, "responses")).flatMap(([status, each]) => {
          if (!isObject(each)) return [];
          const answer = resolve(each).schema;
          return [{ status, description: text(answer, "description"), content: describedContent(resolve, answer) }];
        }),
        samples: objectList(operation, "x-codeSamples").map((sample) => ({ label: text(sample, "label"), source: text(sample, "source") })),
      });
    }
  }
  const described = new Map(objectList(document, "tags").map((tag) => [text(tag, "name"), text(tag, "description")]));
  // Described tags in order, then the others.
  const names = [...new Set([...described.keys(), ...byTag.keys()])].filter((tag) => byTag.has(tag));
  return {
    name,
    title: `Reference: ${name}`,
    description: text(part(document, "info"), "description"),
    tags: names.map((tag) => ({ name: tag, description: described.get(tag) ?? "", operations: byTag.get(tag) ?? [] })),
    resolve,
  };
};

export const referencePath = (name: string, operation?: string): string => `/docs/reference/${name}${operation === undefined ? "" : `/${operation}`}`;
