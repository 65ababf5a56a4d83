// HTTP paths outside the contract, independent of the transport. Sign-in and feeds define them; the transport serves them.

import type { Fault } from "./fault.ts";
import type { RequestSource } from "./origin.ts";

export interface EndpointRequest extends RequestSource {
  readonly query: URLSearchParams;
  /** A HEAD request: the body of the response is not sent. */
  readonly isHead?: boolean;
  /** The form in the body; empty for GET. */
  readonly form: URLSearchParams;
  /** Reads the body as text if the endpoint takes JSON; otherwise returns "". */
  readonly readText: () => Promise<string>;
  /** Returns any header by its lower-case name; "host" also covers HTTP/2's :authority. */
  readonly headerOf: (name: string) => string | undefined;
  readonly headers: {
    readonly cookie: string | undefined;
    readonly authorization: string | undefined;
    readonly origin: string | undefined;
    readonly accept?: string | undefined;
    readonly ifNoneMatch?: string | undefined;
    readonly ifModifiedSince?: string | undefined;
    readonly acceptEncoding?: string | undefined;
  };
}

/** A page, a redirect or a document. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A long body comes in pieces, which are sent as they arrive. An error between them aborts the response. */
  readonly body: string | AsyncIterable<string | Uint8Array>;
  /** For an error page: the error that clients get which accept JSON instead of HTML. */
  readonly fault?: Fault;
}

/** Handlers of a path by method. The transport renders their exceptions as the standard error body. */
export interface Endpoint {
  readonly GET?: (request: EndpointRequest) => Promise<EndpointAnswer>;
  readonly POST?: (request: EndpointRequest) => Promise<EndpointAnswer>;
  /** POST takes a text of at most this many bytes instead of a form, whatever its content type. */
  readonly textBytesMax?: number;
  /** Serves only requests without an Authorization header; with one, the contract's operation at this path responds. */
  readonly yieldsToToken?: boolean;
  /** The name in logs and metrics: one for all paths of a kind, because anonymous callers can request any number of them. */
  readonly name?: string;
}
