// The API as `gantry iam` asks it: over HTTP, with the token of the person's sign-in or one that is handed in. It may do what
// that token may and knows nothing of the server but its address.

import { readFileSync } from "node:fs";
import { type Code, Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type JsonResponse, refusalText, requestJson, type RequestOptions, sessionToken } from "#login";

type Environment = Readonly<Record<string, string | undefined>>;

/** The path begins with the domain: "/iam/v2/identities?page_size=200". Throws a Fault with what the server says. */
export type CallApi = (path: string, options?: Pick<RequestOptions, "json" | "method">) => Promise<JsonObject>;

const codeOfStatus: Readonly<Partial<Record<number, Code>>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ALREADY_EXISTS",
  429: "RESOURCE_EXHAUSTED",
};

const refusalOf = (response: JsonResponse): Fault =>
  new Fault(codeOfStatus[response.status] ?? (response.status >= 500 ? "UNAVAILABLE" : "FAILED_PRECONDITION"), refusalText(response));

/** GANTRY_TOKEN, the file of GANTRY_TOKEN_FILE, or undefined. */
const handedToken = ({ GANTRY_TOKEN: token, GANTRY_TOKEN_FILE: file }: Environment): string | undefined => {
  if (token) return token.trim();
  if (!file) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new Fault("FAILED_PRECONDITION", `GANTRY_TOKEN_FILE names a file that cannot be read: ${file}`, { cause });
  }
};

/** The server at this address, called with the token that the environment holds or with that of `gantry login`. */
export const openApi = async (server: string, environment: Environment, stop: AbortSignal): Promise<CallApi> => {
  const address = withoutTrailing(server, "/");
  const token = handedToken(environment) ?? (await sessionToken(environment, server, limits.sessionTokenLeftMs, stop));
  return async (path, options = {}) => {
    const response = await requestJson(`${address}${path}`, stop, { ...options, token });
    if (response.status !== 200) throw refusalOf(response);
    return response.body;
  };
};
