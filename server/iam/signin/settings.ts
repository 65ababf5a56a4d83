// What sign-in is given at start (open.ts: openSignIn).

import type { Audit } from "#audit/log";
import type { Authn } from "#authn";
import type { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { withoutTrailing } from "#base/trailing.ts";
import type { Kernel } from "#kernel";
import type { Store, Vault } from "#db";
import type { OpenRows } from "./open-rows.ts";
import type { UserCodeGuesses } from "./user-code-guesses.ts";

export interface SignInSettings {
  /** For the rows of people, bindings and invites that a sign-in changes, and for the access of registry tokens. */
  readonly kernel: Pick<Kernel, "services" | "resources" | "rights" | "answers">;
  readonly store: Store;
  readonly authn: Authn;
  readonly audit: Pick<Audit, "recordRefusal">;
  readonly vault: Pick<Vault, "seal" | "open" | "digest">;
  readonly clock: Clock;
  readonly log: Log;
  /** GANTRY_PUBLIC_URL: where browsers find this server. */
  readonly publicUrl: string;
  /** GANTRY_AUDIENCES: further names of this server. */
  readonly audiences: readonly string[];
  /** GANTRY_REDIRECT_URIS: pages of the operator that get authorization codes. Compared as whole strings. */
  readonly redirectUris: readonly string[];
  /** GANTRY_CLIENTS: whom the operator lets ask for authorization codes, one entry for each address. */
  readonly clients: readonly { readonly id: string; readonly redirectUri: string }[];
  /** The HTTP status that a fault has. */
  readonly statusOf: (fault: Fault) => number;
  /** What strangers may leave in the store, and what they guess. */
  readonly openRows: OpenRows;
  readonly userCodeGuesses: UserCodeGuesses;
}

/** The URL of one of sign-in's paths, as browsers know it. */
export const urlOfPath = ({ publicUrl }: Pick<SignInSettings, "publicUrl">, path: string): string => `${withoutTrailing(publicUrl, "/")}${path}`;
