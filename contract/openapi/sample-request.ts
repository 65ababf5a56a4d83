// The request that the code samples of an operation send.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";

/** `file`: the bytes of a file named FILE. */
export type SampleBody =
  | { readonly kind: "json"; readonly type: string; readonly value: Json }
  | { readonly kind: "form"; readonly fields: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "file"; readonly type: string };

export interface SampleRequest {
  /** In upper case. */
  readonly verb: string;
  /** With the query. Values of the path and of required parameters are upper-case placeholders. */
  readonly path: string;
  readonly isOpen: boolean;
  readonly body: SampleBody | undefined;
  readonly answersJson: boolean;
}

/** "repoUid" to "REPO_UID". */
const placeholder = (name: string): string =>
  name
    .slice(name.lastIndexOf(".") + 1)
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toUpperCase();

const isJson = (type: string): boolean => /[/+]json$/.test(type);

/** Returns the recorded example, or a file. */
const bodyOf = (requestBody: JsonObject): SampleBody | undefined => {
  const [[type, media] = []] = Object.entries(part(requestBody, "content"));
  if (type === undefined) return undefined;
  const example: Json | undefined = isObject(media) ? media.example : undefined;
  if (type === "application/x-www-form-urlencoded")
    return { kind: "form", fields: Object.entries(isObject(example) ? example : {}).map(([name, value]) => [name, String(value)]) };
  return isJson(type) ? { kind: "json", type, value: example ?? {} } : { kind: "file", type };
};

const answersJson = (operation: JsonObject): boolean => {
  const [, answer] = Object.entries(part(operation, "responses")).find(([status]) => status.startsWith("2")) ?? [];
  const [type] = isObject(answer) ? Object.keys(part(answer, "content")) : [];
  return type !== undefined && isJson(type);
};

/** Describes the request of an operation of an OpenAPI document. */
export const sampleRequest = (operation: JsonObject, verb: string, path: string): SampleRequest => {
  const required = objectList(operation, "parameters").filter((each) => each.in === "query" && each.required === true);
  const shownNames = new Map(objectList(operation, "parameters").map((each) => [text(each, "name"), text(each, "x-field") || text(each, "name")]));
  const query = required.map((each) => `${text(each, "name")}=${placeholder(text(each, "name"))}`);
  return {
    verb: verb.toUpperCase(),
    path: `${path.replace(/\{([^{}]*)\}/g, (_, name: string) => placeholder(shownNames.get(name) ?? name))}${query.length > 0 ? `?${query.join("&")}` : ""}`,
    isOpen: objectList(operation, "security").every((each) => Object.keys(each).length === 0),
    body: bodyOf(part(operation, "requestBody")),
    answersJson: verb !== "head" && answersJson(operation),
  };
};
