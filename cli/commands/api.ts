// `gantry api METHOD PATH`: call any path of the server with the usual credential. The token never goes elsewhere: the path must
// belong to the server, and redirects are not followed.

import { readFileSync } from "node:fs";
import { text as readStream } from "node:stream/consumers";
import type { Command } from "commander";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { explainRefusal, type FoundContext } from "#contexts";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { exitStatusText, wrongUsage } from "../exit-status.ts";
import { onItsLines, printableJson } from "../output/escape.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly field: readonly string[];
  readonly header: readonly string[];
  readonly data?: string;
  readonly paginate?: boolean;
  readonly include?: boolean;
  /** False with --no-token. */
  readonly token: boolean;
  readonly server?: string;
  readonly context?: string;
}

interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

const ownHeaders = ["authorization", "host", "content-length", "connection", "transfer-encoding"];

/** Returns the URL of a path of this server. Throws if it leads to another one. */
const addressOf = (server: string, path: string): URL => {
  const url = path.startsWith("/") && !path.includes("\\") ? URL.parse(`${server}${path}`) : null;
  const base = new URL(server);
  if (
    url === null ||
    path.startsWith("//") ||
    url.origin !== base.origin ||
    url.username + url.password !== "" ||
    !`${url.pathname}/`.startsWith(`${base.pathname}/`.replace("//", "/"))
  )
    throw wrongUsage(`PATH must be a path of ${server}, such as /iam/v2/groups, not ${JSON.stringify(path)}`);
  return url;
};

const pairOf = (option: string, entry: string, separator: string): readonly [string, string] => {
  const at = entry.indexOf(separator);
  if (at < 1) throw wrongUsage(`${option} must be ${option === "-H" ? '"Name: value"' : "NAME=VALUE"}, not ${JSON.stringify(entry)}`);
  return [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
};

/** Builds a body from dotted names: "role.name=x" becomes {"role": {"name": "x"}}; repeated names make a list. */
const bodyOfFields = (fields: readonly (readonly [string, string])[]): string => {
  const held = new Map<string, string[]>();
  for (const [name, value] of fields) held.set(name, [...(held.get(name) ?? []), value]);
  const root: JsonObject = {};
  for (const [name, values] of held) {
    const path = name.split(".");
    const last = path.pop() ?? "";
    let place = root;
    for (const key of path) {
      const inner = Object.hasOwn(place, key) ? place[key] : undefined;
      const next: JsonObject = isObject(inner) ? inner : {};
      Object.defineProperty(place, key, { value: next, enumerable: true, configurable: true, writable: true });
      place = next;
    }
    const [only = "", ...others] = values;
    Object.defineProperty(place, last, { value: others.length === 0 ? only : values, enumerable: true, configurable: true, writable: true });
  }
  return JSON.stringify(root);
};

const readData = async (data: string): Promise<string> => {
  if (data === "-") return readStream(process.stdin);
  if (!data.startsWith("@")) return data;
  try {
    return readFileSync(data.slice(1), "utf8");
  } catch (cause) {
    throw new Fault("FAILED_PRECONDITION", `-d must name a readable file: ${JSON.stringify(data.slice(1))}`, { cause });
  }
};

const readRequest = async (server: string, word: string, path: string, options: Options): Promise<ApiRequest> => {
  const method = word.toUpperCase();
  if (!methods.includes(method)) throw wrongUsage(`METHOD must be one of ${methods.join(", ")}, not ${JSON.stringify(word)}`);
  if (options.paginate && method !== "GET") throw wrongUsage("--paginate requires GET");
  if (options.data !== undefined && options.field.length > 0) throw wrongUsage("-d and -f cannot be used together");
  const url = addressOf(server, path);
  const headers = new Headers();
  for (const [name, value] of options.header.map((entry) => pairOf("-H", entry, ":"))) {
    if (ownHeaders.includes(name.toLowerCase()))
      throw wrongUsage(`-H cannot set ${name}${/^auth/i.test(name) ? ". To use another token, set GANTRY_TOKEN" : ""}`);
    try {
      headers.append(name, value);
    } catch (cause) {
      throw wrongUsage(`-H must be a valid header, not ${JSON.stringify(`${name}: ${value}`)}`, cause);
    }
  }
  const fields = options.field.map((entry) => pairOf("-f", entry, "="));
  const hasBody = method !== "GET" && method !== "HEAD" && method !== "DELETE";
  if (!hasBody) for (const [name, value] of fields) url.searchParams.append(name, value);
  const body = options.data !== undefined ? await readData(options.data) : hasBody && fields.length > 0 ? bodyOfFields(fields) : undefined;
  if (body !== undefined && !hasBody && method !== "DELETE") throw wrongUsage(`${method} has no body. Remove -d`);
  if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  return { method, url, headers, body };
};

const sendRequest = async (found: FoundContext, request: ApiRequest, isWithToken: boolean): Promise<Response> => {
  const { ApiError } = await import("#contract-client");
  const signal = AbortSignal.timeout(limits.callsOfCommandMs);
  const { method, url, body = null } = request;
  const once = async (refused?: string): Promise<{ readonly response: Response; readonly token: string | undefined }> => {
    const headers = new Headers(request.headers);
    const token = isWithToken ? await found.credential.token({ signal, ...(refused === undefined ? {} : { refused }) }) : undefined;
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    try {
      return { response: await fetch(url, { method, headers, body, redirect: "manual", signal }), token };
    } catch (thrown) {
      const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause.message : String(thrown);
      throw new ApiError("UNAVAILABLE", `${found.server} cannot be reached: ${cause}`, { reason: "NO_CONNECTION", cause: thrown });
    }
  };
  const first = await once();
  if (first.response.status !== 401 || first.token === undefined) return first.response;
  const another = await found.credential.token({ signal, refused: first.token });
  return another === first.token ? first.response : (await once(first.token)).response;
};

const jsonIn = (raw: string): Json | undefined => {
  try {
    return JSON.parse(raw) as Json;
  } catch {
    return undefined;
  }
};

const checkStatus = async (found: FoundContext, response: Response, raw: string): Promise<void> => {
  if (response.status < 300) return;
  const { errorOfHttp } = await import("#contract-client");
  const error = errorOfHttp({ status: response.status, headers: Object.fromEntries(response.headers), body: jsonIn(raw), nowMs: Date.now() });
  const location = response.headers.get("location");
  if (response.status < 400 && location !== null) error.message += `: ${location}`;
  throw explainRefusal(found.credential, error);
};

const headText = (response: Response): string =>
  `HTTP ${response.status} ${response.statusText}\n${[...response.headers].map(([name, value]) => `${name}: ${value}\n`).join("")}\n`;

const bodyText = (raw: string, isTerminal: boolean): string => {
  if (!isTerminal) return raw;
  const value = jsonIn(raw);
  return value === undefined ? onItsLines(raw) : `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
};

/** Merges pages of a list: lists are concatenated, other fields come from the last page. */
const mergedPage = (before: JsonObject | undefined, page: JsonObject): JsonObject => {
  const { nextPageToken: _token, ...own } = page;
  const lists = Object.entries(own).map(([key, value]) => {
    const earlier = before?.[key];
    return [key, Array.isArray(value) && Array.isArray(earlier) ? [...earlier, ...value] : value];
  });
  return { ...before, ...Object.fromEntries(lists) };
};

const paginate = async (found: FoundContext, request: ApiRequest, isWithToken: boolean): Promise<string> => {
  let merged: JsonObject | undefined;
  for (let pageToken = ""; ; ) {
    const url = new URL(request.url);
    if (pageToken !== "") url.searchParams.set("page_token", pageToken);
    const response = await sendRequest(found, { ...request, url }, isWithToken);
    const raw = await response.text();
    await checkStatus(found, response, raw);
    // The pages would be from different versions of the list (decisions: Lists).
    if (merged !== undefined && response.headers.get("gantry-page-restarted") === "true") throw new Fault("ABORTED", "the list was restarted. Try again");
    const page = jsonIn(raw);
    if (!isObject(page)) throw new Fault("UNAVAILABLE", `${found.server} did not return a page of a list`);
    merged = mergedPage(merged, page);
    const next = text(page, "nextPageToken");
    if (next === "") return JSON.stringify(merged);
    if (next === pageToken) throw new Fault("UNAVAILABLE", `${found.server} returned the same page again`);
    pageToken = next;
  }
};

const withEntry = (value: string, before: readonly string[]): readonly string[] => [...before, value];

const wrongArguments = "path required, after a method other than GET: gantry api /iam/v2/groups";

/** Returns method and path; a single word must be a path, and the method is GET. */
const readWords = (word: string, path: string | undefined): readonly [string, string] => {
  if (path !== undefined) return [word, path];
  if (!word.startsWith("/")) throw wrongUsage(wrongArguments);
  return ["GET", word];
};

export const apiCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "api",
      usage: "[METHOD] PATH [-f NAME=VALUE] [-d DATA] [-H HEADER] [-i] [--paginate] [--no-token] [--server URL] [--context NAME]",
      description: `Send a request to any path of the server, and print the response unchanged. METHOD is GET by default. PATH begins with /. The server is
that of every other command, and only it receives the token: redirects are not followed. An error goes to standard error and sets the exit
status. With -i, the response to a failed request is printed too.`,
      notes: `${exitStatusText}

Examples:  gantry api /iam/v2/groups --paginate
           gantry api GET /registry/v2/repos -f page_size=5 -f name=app
           gantry api POST /iam/v2/groups/UID -f name=team
           gantry api PATCH /iam/v2/groups/UID -d '{"description": "all of us"}' -H 'If-Match: "1"' -i`,
      wrongArguments,
    })
      .argument("<METHOD>")
      .argument("[PATH]")
      .option("-f, --field <FIELD>", "NAME=VALUE: query parameter of GET and DELETE, otherwise a text in the JSON body; a.b is b within a", withEntry, [])
      .option("-d, --data <DATA>", "Request body, @FILE, or - for standard input (default content type: JSON)")
      .option("-H, --header <HEADER>", 'Header "Name: value", such as an Idempotency-Key', withEntry, [])
      .option("-i, --include", "Also print the status and the headers")
      .option("--paginate", "Get all pages of a list and print them as one")
      .option("--no-token", "Send no token"),
  ).action(async (first: string, second: string | undefined, options: Options) => {
    const [word, path] = readWords(first, second);
    const found = findContext(terminal, { server: options.server, context: options.context });
    const request = await readRequest(found.server, word, path, options);
    const { out } = terminal;
    const isTerminal = out.isTTY === true;
    if (options.paginate) {
      out.write(bodyText(`${await paginate(found, request, options.token)}\n`, isTerminal));
      return;
    }
    const response = await sendRequest(found, request, options.token);
    const raw = Buffer.from(await response.arrayBuffer());
    const head = options.include ? headText(response) : "";
    if (options.include) out.write(isTerminal ? onItsLines(head) : head);
    // Binary content (a layer, an archive) is written to a file unchanged.
    if (options.include || response.status < 300) out.write(isTerminal ? bodyText(raw.toString("utf8"), true) : raw);
    await checkStatus(found, response, raw.toString("utf8"));
  });
