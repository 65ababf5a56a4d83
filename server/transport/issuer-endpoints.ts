// Functions that authn and sign-in provide for paths outside the contract. Types only.

import type { Endpoint } from "#base/endpoint.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";

/** A registry client's request for a token (oci: 4). */
export interface RegistryTokenRequest {
  readonly verb: string;
  readonly parameters: URLSearchParams;
  readonly authorization: string | undefined;
  /** The identity to act as; undefined: the token's own subject. */
  readonly identity: string | undefined;
  readonly from: RequestSource;
}

export interface IssuerEndpoints {
  readonly discovery: () => JsonObject;
  /** RFC 8414. */
  readonly authorizationServer: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** The token endpoint, all grants. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined, from: RequestSource) => Promise<JsonObject>;
  /** Issues a registry token, which only identifies the caller. Throws a Fault. */
  readonly registryToken: (request: RegistryTokenRequest) => Promise<JsonObject>;
  /** RFC 7009. Throws a Fault. */
  readonly revoke: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** RFC 8628, 3.1. Throws a Fault. */
  readonly beginDevice: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** Sign-in pages and their resources, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** The same for paths that contain a uid; undefined for other paths. */
  readonly endpointAt?: (path: string) => Endpoint | undefined;
}
