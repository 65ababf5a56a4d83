// Mints tokens for any identity on the operator's command, with an audit entry.

import { operatorUid } from "#authz";
import { systemClock, timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import { recordSignIn } from "#outbox";
import { commandOrigin } from "./command-record.ts";
import { type FoundationOptions, openFoundation } from "./foundation.ts";

/** Mints a token for an identity, by default the operator, with the lifetime of an access token. */
export const mintToken = async (
  { authn, store, clock, publicUrl }: Pick<Services, "authn" | "store" | "clock" | "publicUrl">,
  identity: string = operatorUid,
  audience: string = publicUrl,
): Promise<string> => {
  const requestSource = { origin: commandOrigin("token"), requestId: "" };
  await store.write((rows) =>
    recordSignIn(rows, publicUrl, { identity, caller: operatorUid, act: undefined, operation: "gantry token", requestSource, time: timestamp(clock()) }),
  );
  return authn.mint({ uid: identity, audience: [audience] });
};

/** Mints the operator's token without opening the application, which would take ten times as long. */
export const mintOperatorToken = async (options: FoundationOptions, audience: string | undefined): Promise<string> => {
  const { store, authn } = await openFoundation(options);
  try {
    return await mintToken({ store, authn, clock: systemClock, publicUrl: options.settings.publicUrl }, undefined, audience);
  } finally {
    await authn.close();
    await store.close();
  }
};
