// What authn and sign-in give for the paths that are no operation of the contract. Types alone.

import type { Endpoint } from "#base/endpoint.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";

/** What a client of the registry asks for a token with (oci: 4). */
export interface RegistryTokenRequest {
  readonly verb: string;
  readonly parameters: URLSearchParams;
  /** A bearer token; undefined where it came without any. */
  readonly authorization: string | undefined;
  /** The identity that the token shall act as; undefined: its own subject. */
  readonly identity: string | undefined;
  readonly from: RequestSource;
}

export interface IssuerEndpoints {
  readonly discovery: () => JsonObject;
  /** RFC 8414. */
  readonly authorizationServer: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** Every grant of the token endpoint. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined, from: RequestSource) => Promise<JsonObject>;
  /** A token for the registry, which says who asks and nothing else. Throws a Fault. */
  readonly registryToken: (request: RegistryTokenRequest) => Promise<JsonObject>;
  /** RFC 7009. Throws a Fault. */
  readonly revoke: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** RFC 8628, 3.1. Throws a Fault. */
  readonly beginDevice: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** Signing in: pages and what belongs to them, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** The same at a path with a uid in it; undefined for any other path. */
  readonly endpointAt?: (path: string) => Endpoint | undefined;
}
