// Settings and services of sign-in (open.ts: openSignIn).

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
  readonly kernel: Pick<Kernel, "services" | "resources" | "rights" | "answers">;
  readonly store: Store;
  readonly authn: Authn;
  readonly audit: Pick<Audit, "recordRefusal">;
  readonly vault: Pick<Vault, "seal" | "open" | "digest">;
  readonly clock: Clock;
  readonly log: Log;
  /** GANTRY_PUBLIC_URL: URL of this server for browsers. */
  readonly publicUrl: string;
  /** GANTRY_AUDIENCES: further names of this server. */
  readonly audiences: readonly string[];
  /** GANTRY_REDIRECT_URIS: the operator's pages that get authorization codes. Compared as whole strings. */
  readonly redirectUris: readonly string[];
  /** GANTRY_CLIENTS: programs that may request authorization codes, one entry per redirect URI. */
  readonly clients: readonly { readonly id: string; readonly redirectUri: string }[];
  /** Returns the build of the console; undefined with GANTRY_CONSOLE=false. */
  readonly consoleBuild?: (() => Promise<string>) | undefined;
  readonly statusOf: (fault: Fault) => number;
  readonly openRows: OpenRows;
  readonly userCodeGuesses: UserCodeGuesses;
}

/** Returns the public URL of a path. */
export const urlOfPath = ({ publicUrl }: Pick<SignInSettings, "publicUrl">, path: string): string => `${withoutTrailing(publicUrl, "/")}${path}`;

/** Returns the console's client ID, which is also its only redirect URI. */
export const consoleClientOf = (settings: Pick<SignInSettings, "publicUrl">): string => urlOfPath(settings, "/console");
