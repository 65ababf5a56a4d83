// The SCIM token of an identity provider (authentication.md: 10). It opens the SCIM address of its provider alone, and is looked up
// with each request: one that was revoked, and a provider for which SCIM was switched off, are refusedScimToken from the next one on.
// A write looks once more, in its transaction (attack 202).

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

// One text for all: whether there is a provider, whether SCIM is on there, and what was wrong with the token, nobody learns.
const refusedScimToken = (): Fault => unauthenticated("send the SCIM token of this identity provider as Authorization: Bearer <token>");

/** When this token ends, in milliseconds since 1970; undefined: it is none of the provider's. */
const tokenEndOf = ({ tokenHash, expireTimeMs, previousTokenHash, previousExpireTimeMs }: ScimAccess, hash: string): number | undefined => {
  if (hash === tokenHash) return expireTimeMs;
  return hash === previousTokenHash ? previousExpireTimeMs : undefined;
};

export interface ScimTokens {
  /** Who asks at the SCIM address of this provider: the provider itself, by its token. Throws UNAUTHENTICATED, whatever is wrong. */
  authenticate(provider: string, authorization: string | undefined): Promise<Caller>;
  /** What the caller's token opens now, by what a transaction has read that holds the provider's row. Throws UNAUTHENTICATED: nothing any longer. */
  confirm(caller: Caller | undefined, access: ScimAccess | undefined): ScimState;
}

/** @param issuer the address of this server */
export const openScimTokens = (store: Store, clock: Clock, issuer: string): ScimTokens => {
  // The same object for the same token: shares are counted by it.
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
