// What this room stands on; given at start (index.ts: openSignIn).

import type { Audit } from "#audit";
import type { Authn } from "#authn";
import type { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import type { Store, Vault } from "#store";
import type { Completers } from "./completion.ts";
import type { Providers } from "./provider.ts";

export interface SignInSettings {
  readonly store: Store;
  readonly authn: Authn;
  readonly audit: Pick<Audit, "recordRefusal">;
  readonly vault: Pick<Vault, "seal" | "open">;
  readonly clock: Clock;
  readonly log: Log;
  /** GANTRY_PUBLIC_URL: where browsers find this server. */
  readonly publicUrl: string;
  /** GANTRY_CORS_ORIGINS: pages that a sign-in may end at, besides this server's own. */
  readonly origins: readonly string[];
  /** The HTTP status that a fault has. */
  readonly statusOf: (fault: Fault) => number;
}

export interface SignInDependencies extends SignInSettings {
  readonly providers: Providers;
  readonly finishers: Completers;
}

/** The address of one of this room's paths, as browsers know it. */
export const addressOf = ({ publicUrl }: Pick<SignInSettings, "publicUrl">, path: string): string => `${publicUrl.replace(/\/+$/, "")}${path}`;
