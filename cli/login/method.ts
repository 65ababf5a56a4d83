// Input and result of the sign-in methods.

import type { Issuer } from "./issuer-client.ts";

export interface Tokens {
  readonly access: string;
  readonly refresh: string | undefined;
}

export interface MethodOptions {
  readonly issuer: Issuer;
  readonly audience: string;
  /** Uid of an identity provider, or name of a verified organization. */
  readonly idp: string | undefined;
  readonly invite?: string | undefined;
  readonly err: NodeJS.WriteStream;
  /** Aborted when the user stops waiting. */
  readonly stop: AbortSignal;
}
