// What other modules give for paths beside the contract: sign-in, the issuer, documents. Types alone.

import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";

/** A request to a path beside the contract, free of its protocol. */
export interface EndpointRequest extends RequestSource {
  readonly query: URLSearchParams;
  /** The body's form; empty for GET. */
  readonly form: URLSearchParams;
  readonly headers: {
    readonly cookie: string | undefined;
    readonly authorization: string | undefined;
    readonly origin: string | undefined;
    readonly ifNoneMatch?: string | undefined;
  };
}

/** A page, a redirect, a document. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Handlers of one path by HTTP method. They throw Faults. */
export type Endpoint = Readonly<Partial<Record<"GET" | "POST", (request: EndpointRequest) => Promise<EndpointAnswer>>>>;

/** What authn and sign-in give for the paths that are no operation of the contract. */
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
