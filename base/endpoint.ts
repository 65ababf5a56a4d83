// A path beside the contract, free of its protocol: what it is asked and what it answers. Sign-in and the feeds offer
// such paths; the transport serves them.

import type { Fault } from "./fault.ts";
import type { RequestSource } from "./origin.ts";

export interface EndpointRequest extends RequestSource {
  readonly query: URLSearchParams;
  /** Asked for by HEAD: of what is answered the body is not sent. */
  readonly isHead?: boolean;
  /** The body's form; empty for GET. */
  readonly form: URLSearchParams;
  /** Reads the body of an endpoint that takes JSON, as text; of any other it is empty. */
  readonly readText: () => Promise<string>;
  /** Any header by its name in lower case; "host": whom the request names as its host, wherever it does. */
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

/** A page, an address to go to, a document. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces of what is too long for one text: they are sent as they come, and a fault among them cuts the answer off. */
  readonly body: string | AsyncIterable<string | Uint8Array>;
  /** Of a page that says what went wrong: what a program is told instead, which asks for JSON and reads no pages. */
  readonly fault?: Fault;
}

/** A path's answers by verb. What they throw is answered with the error body that every path has. */
export interface Endpoint {
  readonly GET?: (request: EndpointRequest) => Promise<EndpointAnswer>;
  readonly POST?: (request: EndpointRequest) => Promise<EndpointAnswer>;
  /** Its POST takes no form but a text of at most so many bytes, whatever its headers call that. */
  readonly textBytesMax?: number;
  /** Open to whoever shows no token: with an Authorization header the operation of the contract at this path answers. */
  readonly yieldsToToken?: boolean;
  /** What the log and the metrics call it: one name for all paths of its kind, of which strangers may ask for many. */
  readonly name?: string;
}
