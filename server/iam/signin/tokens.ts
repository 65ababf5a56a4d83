// Issues the tokens of a finished sign-in.

import { denied } from "#base/fault.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import type { Write } from "#db";
import type { RequestedToken, SignedIn } from "./completion.ts";
import { callbackPath } from "./provider.ts";
import { requireNotDeactivated } from "./provisioning.ts";
import { accessLifetimeOf, beginFamily, type CodeGrant, newFamilyId } from "./refresh.ts";
import { beginSession, type SessionProgram, sessionOfFamily } from "./session.ts";
import type { SignInSettings } from "./settings.ts";

const notDownscoped = { capabilities: undefined, scopes: undefined };

export interface Tokens {
  readonly token: string;
  readonly expireTimeMs: number;
  /** Undefined if not requested or not permitted (authentication.md: 3.2). */
  readonly refreshToken: string | undefined;
}

/** Issues the requested tokens in the caller's transaction and begins their session. `grant` is the session of an authorization code. */
export const issueTokens = async (
  { authn, clock, publicUrl }: Pick<SignInSettings, "authn" | "clock" | "publicUrl">,
  rows: Write,
  signedIn: SignedIn,
  requestedToken: RequestedToken,
  createRefreshToken: boolean,
  program: SessionProgram,
  grant?: CodeGrant,
): Promise<Tokens> => {
  const { uid, identityProviderUid, session, mayRefresh, act, email, untilMs, requestSource } = signedIn;
  // A terminal may fetch its tokens some time after the sign-in.
  await requireNotDeactivated(rows, identityProviderUid, authn.personUid(act.iss ?? "", act.sub ?? ""));
  const requested = { identity: "", ...requestedToken };
  const familyId = newFamilyId(grant);
  const sessionId = sessionOfFamily(familyId, grant?.client);
  const refreshes = createRefreshToken && mayRefresh;
  // Without a refresh token, a short access token would only sign the user out.
  const endMs = refreshes ? Math.min(untilMs, clock() + accessLifetimeOf({ publicUrl }, grant?.client)) : untilMs;
  const issued = await authn.issue({ uid, act, email, session, grant: sessionId, downscoping: notDownscoped, requested, untilMs: endMs });
  await recordSignIn(rows, publicUrl, {
    identity: uid,
    act,
    client: grant?.client,
    session,
    identityProvider: identityProviderUid,
    operation: callbackPath,
    requestSource,
    time: timestamp(clock()),
  });
  const family = {
    id: familyId,
    grant,
    identity: uid,
    identityProvider: identityProviderUid,
    act,
    email,
    audience: requestedToken.audience,
    ...authn.readDownscoping(requested),
  };
  const refresh = refreshes ? await beginFamily(rows, family, clock()) : undefined;
  if (refreshes && !refresh) throw denied("the identity or its identity provider was deleted during the sign-in");
  const begun = {
    id: sessionId,
    identityUid: uid,
    identityProviderUid,
    refreshTokenId: refresh && familyId,
    address: requestSource.origin.address,
    program,
    expireTimesMs: [issued.expireTimeMs, ...(refresh ? [refresh.expireTimeMs] : [])],
  };
  await beginSession(rows, begun, clock());
  return { ...issued, refreshToken: refresh?.token };
};
