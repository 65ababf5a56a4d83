// What a door hands to the kernel, and what it gets back. Doors know protocols, the kernel does not.

import type { JsonObject } from "#base/json.ts";
import type { Violation } from "#base/fault.ts";
import type { RequestSource, Origin } from "#base/origin.ts";
import type { MethodFact } from "#contract/facts.ts";

export interface Call {
  readonly method: MethodFact;
  /** The request message as plain values (contract/read.ts), whichever door it came through. */
  readonly request: JsonObject;
  /** What could not be read; reported after the caller's permission was decided. */
  readonly problems: readonly Violation[];
  /**
   * REST only: the body's own keys as field paths in JSON names, nested ones dotted. They are the implied field
   * mask of an update; proto3 alone cannot tell an empty field from an absent one.
   */
  readonly bodyPaths: readonly string[] | undefined;
  /** The whole Authorization header; undefined where there is none. */
  readonly authorization: string | undefined;
  /** Header or metadata Gantry-Identity: the assumable identity that a foreign token acts as. */
  readonly identity: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly validateOnly: boolean;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string;
  /** Asked for by writes and refusals alone: most requests need not look. */
  readonly origin: () => Origin;
}

export interface Reply {
  /** The response message as plain values; a door leaves out nothing and adds nothing. */
  readonly message: JsonObject;
  /** The message as JSON text, where the kernel needed it for the ETag. */
  readonly json?: string;
  /** Answer headers (gRPC: initial metadata), lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** REST only: 304 for an unchanged Get. */
  readonly httpStatus?: number;
}

/** Which request this is, and from where. */
export const requestSourceOf = (call: Call): RequestSource => ({ origin: call.origin(), requestId: call.requestId });

/** The kernel as a door sees it. Throws a Fault for every refusal. */
export type Serve = (call: Call) => Promise<Reply>;
