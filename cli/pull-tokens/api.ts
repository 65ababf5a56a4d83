// The API as `gantry iam` asks it: over HTTP, with a token that it is given. It may do what that token may and
// knows nothing of the server but its address.

import { type Code, Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type JsonResponse, refusalText, requestJson, type RequestOptions } from "#login";

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

/** The server at this address, called with this token. */
export const openApi = (server: string, token: string, stop: AbortSignal): CallApi => {
  const address = withoutTrailing(server, "/");
  return async (path, options = {}) => {
    const response = await requestJson(`${address}${path}`, stop, { ...options, token });
    if (response.status !== 200) throw refusalOf(response);
    return response.body;
  };
};
