// What each method of signing in gets, and what it returns.

import type { Issuer } from "./issuer-client.ts";

export interface Tokens {
  readonly access: string;
  readonly refresh: string | undefined;
}

export interface MethodOptions {
  readonly issuer: Issuer;
  readonly audience: string;
  /** An identity provider's uid, or the name of a verified organization. */
  readonly idp: string | undefined;
  /** The code of an invite to accept. */
  readonly invite?: string | undefined;
  readonly err: NodeJS.WriteStream;
  /** Aborted when the person stops waiting. */
  readonly stop: AbortSignal;
}
