// The tokens of a finished sign-in.

import { denied } from "#base/fault.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import type { Write } from "#store";
import type { SignedIn, RequestedToken } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { callbackPath } from "./provider.ts";
import { beginFamily } from "./refresh.ts";

export interface Tokens {
  readonly token: string;
  readonly expireTimeMs: number;
  /** Undefined where none was asked for, or none may be given (authentication.md: 3.2). */
  readonly refreshToken: string | undefined;
}

/** Issues what was wished for, in the caller's transaction. */
export const tokensFor = async (
  { authn, clock, publicUrl }: SignInDependencies,
  rows: Write,
  signedIn: SignedIn,
  wish: RequestedToken,
  createRefreshToken: boolean,
): Promise<Tokens> => {
  const { uid, identityProviderUid, session, mayRefresh, act, email, untilMs, requestSource } = signedIn;
  const wanted = { identity: "", ...wish };
  const { token, expireTimeMs } = await authn.issue({ uid, act, email, session, held: { capabilities: undefined, scopes: undefined }, wanted, untilMs });
  await recordSignIn(rows, publicUrl, { identity: uid, act, session, operation: callbackPath, requestSource, time: timestamp(clock()) });
  if (!createRefreshToken || !mayRefresh) return { token, expireTimeMs, refreshToken: undefined };
  const family = { identity: uid, identityProvider: identityProviderUid, act, email, audience: wish.audience, ...authn.narrowing(wanted) };
  const refresh = await beginFamily(rows, family, clock());
  if (!refresh) throw denied("the identity or its identity provider has been deleted meanwhile");
  return { token, expireTimeMs, refreshToken: refresh.token };
};
