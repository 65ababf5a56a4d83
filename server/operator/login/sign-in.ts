// What each way of signing in is given, and what it gives.

import type { Issuer } from "./issuer.ts";

export interface Tokens {
  readonly access: string;
  readonly refresh: string | undefined;
}

export interface SignIn {
  readonly issuer: Issuer;
  readonly audience: string;
  /** An identity provider's uid, or the name of a verified organization. */
  readonly idp: string | undefined;
  readonly err: NodeJS.WriteStream;
  /** Aborted when the person stops waiting. */
  readonly stop: AbortSignal;
}
