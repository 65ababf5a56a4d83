// Audits token exchanges.

import type { Exchanged } from "#authn";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import type { SignInSettings } from "./settings.ts";

/** Writes the audit entry. Await it before releasing the token. */
export const recordExchange = async (
  { store, clock, publicUrl }: Pick<SignInSettings, "store" | "clock" | "publicUrl">,
  { uid, act, session }: Exchanged,
  operation: string,
  requestSource: RequestSource,
): Promise<void> => store.write((rows) => recordSignIn(rows, publicUrl, { identity: uid, act, session, operation, requestSource, time: timestamp(clock()) }));
