// Code samples of operations (`x-codeSamples`): curl, the command line, the TypeScript client, and Go and Python with their own
// libraries alone.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { type SampleBody, type SampleRequest, sampleRequest } from "./sample-request.ts";

/** Samples that other programs make, by operation. */
export interface RecordedSamples {
  /** `gantry iam groups list` (test/golden/command-samples.json). */
  readonly commands: Readonly<Record<string, string>>;
  /** `gantry.iam.groups.list()` (contract/gen/client-samples.json). */
  readonly client: Readonly<Record<string, string>>;
}

const formType = "application/x-www-form-urlencoded";

const typeOf = (body: SampleBody): string => (body.kind === "form" ? formType : body.type);

/** Wider code is split into lines. */
const widthMax = 80;

// ---- curl -----------------------------------------------------------------------------------------------------

const shellQuoted = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;

const bodyArguments = (body: SampleBody | undefined): string[] => {
  if (body === undefined) return [];
  if (body.kind === "form") return body.fields.map(([name, value]) => `--data-urlencode ${shellQuoted(`${name}=${value}`)}`);
  const header = `--header ${shellQuoted(`Content-Type: ${body.type}`)}`;
  return [header, body.kind === "file" ? "--data-binary @FILE" : `--data ${shellQuoted(JSON.stringify(body.value))}`];
};

const verbArgument: Readonly<Record<string, string>> = { GET: "", HEAD: "--head " };

export const curlSample = ({ verb, path, isOpen, body }: SampleRequest): string =>
  [
    `curl ${verbArgument[verb] ?? `--request ${verb} `}"$GANTRY_SERVER${path}"`,
    ...(isOpen ? [] : ['--header "Authorization: Bearer $GANTRY_TOKEN"']),
    ...bodyArguments(body),
  ].join(" \\\n  ");

// ---- Go -------------------------------------------------------------------------------------------------------

/** A string of JSON is also one of Go. */
const goText = (value: string): string => (value.includes("`") || !value.includes('"') ? JSON.stringify(value) : `\`${value}\``);

const goJson = (value: Json): string => {
  const line = JSON.stringify(value);
  return goText(line.length > widthMax ? JSON.stringify(value, undefined, 2) : line);
};

const goFatal = "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}";

const goBody = (body: SampleBody | undefined): string[] => {
  if (body === undefined) return [];
  if (body.kind === "file") return ['\tbody, err := os.Open("FILE")', goFatal, "\tdefer body.Close()"];
  if (body.kind === "json") return [`\tbody := strings.NewReader(${goJson(body.value)})`];
  const fields = body.fields.map(([name, value]) => `${JSON.stringify(name)}: {${JSON.stringify(value)}}`);
  return [`\tform := url.Values{${fields.join(", ")}}`, "\tbody := strings.NewReader(form.Encode())"];
};

/** A program, because Go compiles nothing smaller. */
export const goSample = ({ verb, path, isOpen, body }: SampleRequest): string => {
  const packages = ["fmt", "io", "log", "net/http", ...(body?.kind === "form" ? ["net/url"] : []), "os", ...(body && body.kind !== "file" ? ["strings"] : [])];
  return [
    "package main\n",
    `import (\n${packages.map((name) => `\t"${name}"\n`).join("")})\n`,
    "func main() {",
    ...goBody(body),
    `\trequest, err := http.NewRequest(${JSON.stringify(verb)}, os.Getenv("GANTRY_SERVER")+${JSON.stringify(path)}, ${body ? "body" : "nil"})`,
    goFatal,
    ...(isOpen ? [] : ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("GANTRY_TOKEN"))']),
    ...(body ? [`\trequest.Header.Set("Content-Type", ${JSON.stringify(typeOf(body))})`] : []),
    "\tresponse, err := http.DefaultClient.Do(request)",
    goFatal,
    "\tdefer response.Body.Close()",
    "\tfmt.Println(response.Status)",
    "\tif _, err := io.Copy(os.Stdout, response.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}",
    "}",
  ].join("\n");
};

// ---- Python ---------------------------------------------------------------------------------------------------

const indent = (depth: number): string => "    ".repeat(depth);

const pythonBlock = (open: string, entries: readonly string[], close: string, depth: number): string => {
  const line = `${open}${entries.join(", ")}${close}`;
  if (!line.includes("\n") && line.length + 4 * depth <= widthMax) return line;
  return `${open}\n${entries.map((entry) => `${indent(depth + 1)}${entry},\n`).join("")}${indent(depth)}${close}`;
};

/** A string of JSON is also one of Python. */
const pythonValue = (value: Json, depth: number): string => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value))
    return pythonBlock(
      "[",
      value.map((entry) => pythonValue(entry, depth + 1)),
      "]",
      depth,
    );
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${pythonValue(inner, depth + 1)}`);
  return pythonBlock("{", entries, "}", depth);
};

const pythonBody: Readonly<Record<SampleBody["kind"], string>> = {
  json: "json.dumps(body).encode()",
  form: "urllib.parse.urlencode(body).encode()",
  file: "body",
};

const pythonBodyLine = (body: SampleBody): string => {
  if (body.kind === "file") return 'body = open("FILE", "rb").read()';
  return `body = ${pythonValue(body.kind === "json" ? body.value : Object.fromEntries(body.fields), 0)}`;
};

export const pythonSample = ({ verb, path, isOpen, body, answersJson }: SampleRequest): string => {
  const modules = [...(body?.kind === "json" || answersJson ? ["json"] : []), "os", ...(body?.kind === "form" ? ["urllib.parse"] : []), "urllib.request"];
  const headers = [
    ...(isOpen ? [] : ['"Authorization": "Bearer " + os.environ["GANTRY_TOKEN"]']),
    // Python's own default is that of a form.
    ...(body && body.kind !== "form" ? [`"Content-Type": ${JSON.stringify(typeOf(body))}`] : []),
  ];
  const values = [
    `os.environ["GANTRY_SERVER"] + ${JSON.stringify(path)}`,
    ...(verb === "GET" ? [] : [`method=${JSON.stringify(verb)}`]),
    ...(headers.length > 0 ? [`headers=${pythonBlock("{", headers, "}", 1)}`] : []),
    ...(body ? [`data=${pythonBody[body.kind]}`] : []),
  ];
  return [
    `${modules.map((name) => `import ${name}\n`).join("")}`,
    ...(body ? [pythonBodyLine(body)] : []),
    `request = ${pythonBlock("urllib.request.Request(", values, ")", 0)}`,
    "with urllib.request.urlopen(request) as response:",
    `    print(${answersJson ? "json.load(response)" : verb === "HEAD" ? "response.headers" : "response.read().decode()"})`,
  ].join("\n");
};

/** Returns the samples of an operation, in the form that readers of OpenAPI documents know. */
export const codeSamples = (
  operation: JsonObject,
  verb: string,
  path: string,
  name: string | undefined,
  { commands, client }: RecordedSamples,
): JsonObject[] => {
  const request = sampleRequest(operation, verb, path);
  const [command, code] = [commands[name ?? ""], client[name ?? ""]];
  return [
    { lang: "Shell", label: "curl", source: curlSample(request) },
    ...(command === undefined ? [] : [{ lang: "Shell", label: "gantry", source: command }]),
    ...(code === undefined ? [] : [{ lang: "TypeScript", label: "TypeScript", source: code }]),
    { lang: "Go", label: "Go", source: goSample(request) },
    { lang: "Python", label: "Python", source: pythonSample(request) },
  ];
};
