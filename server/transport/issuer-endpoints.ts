// What authn and sign-in give for the paths that are no operation of the contract. Types alone.

import type { Endpoint } from "#base/endpoint.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";

export interface IssuerEndpoints {
  readonly discovery: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** Every grant of the token endpoint. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined, from: RequestSource) => Promise<JsonObject>;
  /** RFC 8628, 3.1. Throws a Fault. */
  readonly beginDevice: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** Signing in: pages and what belongs to them, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}
