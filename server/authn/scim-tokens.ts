// SCIM tokens of identity providers (authentication.md: 10), valid for the provider's SCIM endpoint only. Looked up on every
// request, so that revocation takes effect at once, and again in a write's transaction (attack 202).

import { createHash } from "node:crypto";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import { findScimAccess, type ScimAccess } from "#iam/store";
import type { Store } from "#db";
import { type Caller, freezeCaller, type ScimState } from "./caller.ts";
import { entryWeightOf, lruCache } from "./lru-cache.ts";

const form = /^bearer +(cgscim_[0-9a-f]{64})$/i;
const suspended = "ORG_STATUS_SUSPENDED";

// One error for all failures, which discloses neither the provider nor whether SCIM is enabled.
const refusedScimToken = (): Fault => unauthenticated("send the SCIM token of this identity provider as Authorization: Bearer <token>");

const tokenEndOf = ({ tokenHash, expireTimeMs, previousTokenHash, previousExpireTimeMs }: ScimAccess, hash: string): number | undefined => {
  if (hash === tokenHash) return expireTimeMs;
  return hash === previousTokenHash ? previousExpireTimeMs : undefined;
};

export interface ScimTokens {
  /** Authenticates the provider by its token. Throws UNAUTHENTICATED. */
  authenticate(provider: string, authorization: string | undefined): Promise<Caller>;
  /** Checks the caller's token against state read in a transaction that locks the provider's row. Throws UNAUTHENTICATED if it is no longer valid. */
  confirm(caller: Caller | undefined, access: ScimAccess | undefined): ScimState;
}

/** @param issuer the URL of this server */
export const openScimTokens = (store: Store, clock: Clock, issuer: string): ScimTokens => {
  // One object per token, because limits are counted by it.
  const callers = lruCache<Caller>(limits.tokenCacheEntries);

  const stateOf = (access: ScimAccess | undefined, tokenHash: string): ScimState & { readonly endMs: number } => {
    const endMs = access && tokenEndOf(access, tokenHash);
    if (!access || endMs === undefined || endMs <= clock()) throw refusedScimToken();
    return { endMs, isClosed: access.organizationStatus === suspended };
  };

  const authenticate = async (provider: string, authorization: string | undefined): Promise<Caller> => {
    const [, token] = form.exec(authorization ?? "") ?? [];
    if (token === undefined || !isUid(provider)) throw refusedScimToken();
    const access = await findScimAccess(store.read, provider);
    const tokenHash = createHash("sha256").update(token).digest("hex");
    const { endMs, isClosed } = stateOf(access, tokenHash);
    const key = `${provider} ${endMs} ${isClosed} ${tokenHash}`;
    const known = callers.use(key);
    if (known) return known;
    const caller = freezeCaller({
      uid: provider,
      expireTimeMs: endMs,
      issueTimeMs: clock(),
      issuer,
      subject: provider,
      audience: [],
      act: { iss: `${issuer.replace(/\/$/, "")}/scim/v2/${provider}`, sub: "scim" },
      capabilities: undefined,
      scopes: undefined,
      scim: { isClosed, tokenHash },
    });
    callers.set(key, caller, entryWeightOf(key));
    return caller;
  };

  return {
    authenticate,
    confirm: (caller, access) => {
      if (!caller?.scim) throw refusedScimToken();
      return stateOf(access, caller.scim.tokenHash);
    },
  };
};
