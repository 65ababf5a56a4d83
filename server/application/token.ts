// A token minted for an identity on the operator's word, and its entry in the audit log.

import { operatorUid } from "#authz";
import { timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import { recordSignIn } from "#outbox";
import { commandOrigin } from "./command-record.ts";

/** Mints a token for this identity, the operator without one, and returns its text. It lives as long as any access token. */
export const mintToken = async (
  { authn, store, clock, publicUrl }: Services,
  identity: string = operatorUid,
  audience: string = publicUrl,
): Promise<string> => {
  const requestSource = { origin: commandOrigin("token"), requestId: "" };
  await store.write((rows) =>
    recordSignIn(rows, publicUrl, { identity, caller: operatorUid, act: undefined, operation: "gantry token", requestSource, time: timestamp(clock()) }),
  );
  return authn.mint({ uid: identity, audience: [audience] });
};
