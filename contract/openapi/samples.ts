// Code samples of operations (`x-codeSamples`): curl, the command line, the TypeScript client.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";

/** Samples that other programs make, by operation. */
export interface RecordedSamples {
  /** `gantry iam groups list` (test/golden/command-samples.json). */
  readonly commands: Readonly<Record<string, string>>;
  /** `gantry.iam.groups.list()` (contract/gen/client-samples.json). */
  readonly client: Readonly<Record<string, string>>;
}

const shellQuoted = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;

/** "repoUid" to "REPO_UID". */
const placeholder = (name: string): string =>
  name
    .slice(name.lastIndexOf(".") + 1)
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toUpperCase();

const isNamedParameter = (parameter: JsonObject, place: string): boolean => parameter.in === place && parameter.required === true;

/** Returns the arguments of curl for the body: the recorded example, or a file. */
const bodyArguments = (requestBody: JsonObject): string[] => {
  const [[type, media] = []] = Object.entries(part(requestBody, "content"));
  if (type === undefined) return [];
  const example: Json | undefined = isObject(media) ? media.example : undefined;
  if (type === "application/x-www-form-urlencoded")
    return Object.entries(isObject(example) ? example : {}).map(([name, value]) => `--data-urlencode ${shellQuoted(`${name}=${String(value)}`)}`);
  const header = `--header ${shellQuoted(`Content-Type: ${type}`)}`;
  if (!/[/+]json$/.test(type)) return [header, "--data-binary @FILE"];
  return [header, `--data ${shellQuoted(JSON.stringify(example ?? {}))}`];
};

/** Returns the request as a curl command. Values of the path and of required parameters are upper-case placeholders. */
export const curlSample = (operation: JsonObject, verb: string, path: string): string => {
  const parameters = objectList(operation, "parameters");
  const query = parameters.filter((each) => isNamedParameter(each, "query")).map((each) => `${text(each, "name")}=${placeholder(text(each, "name"))}`);
  const address = `$GANTRY_SERVER${path.replace(/\{([^{}]*)\}/g, (_, name: string) => placeholder(name))}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  const isOpen = objectList(operation, "security").every((each) => Object.keys(each).length === 0);
  const lines = [
    `curl ${verb === "get" ? "" : verb === "head" ? "--head " : `--request ${verb.toUpperCase()} `}"${address}"`,
    ...(isOpen ? [] : ['--header "Authorization: Bearer $GANTRY_TOKEN"']),
    ...bodyArguments(part(operation, "requestBody")),
  ];
  return lines.join(" \\\n  ");
};

/** Returns the samples of an operation, in the form that readers of OpenAPI documents know. */
export const codeSamples = (
  operation: JsonObject,
  verb: string,
  path: string,
  name: string | undefined,
  { commands, client }: RecordedSamples,
): JsonObject[] => {
  const [command, code] = [commands[name ?? ""], client[name ?? ""]];
  return [
    { lang: "Shell", label: "curl", source: curlSample(operation, verb, path) },
    ...(command === undefined ? [] : [{ lang: "Shell", label: "gantry", source: command }]),
    ...(code === undefined ? [] : [{ lang: "TypeScript", label: "TypeScript", source: code }]),
  ];
};
