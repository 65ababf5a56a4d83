// Decides which identity a foreign token can act as. The identity's row is read on every request; only verified signatures are
// cached (decisions: Access).

import type { JSONWebKeySet, LocalJWKSet } from "jose";
import { createLocalJWKSet } from "jose/jwks/local";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { matchingBudget } from "#base/pattern.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findIdentity, hasPersonOfIssuer, type Identity, type Provider } from "#iam/store";
import type { Store } from "#db";
import type { Audiences } from "./audiences.ts";
import { claimMismatch, matchesIssuer, type Mismatch, parseObject, staticKeysMismatch } from "./claims.ts";
import { type IssuerHosts, isNamedHost } from "./issuer-hosts.ts";
import type { Issuers } from "./issuers.ts";
import { entryWeightOf, lruCache } from "./lru-cache.ts";
import { issuerSpellingsOf, normalIssuer, personUid } from "./people.ts";
import { checkSignature, claimOf, foreignAlgorithms, quoteClaim, quoteForError, type Token, tokenEndMs } from "./token.ts";

export interface ForeignTokens {
  /**
   * Throws unless the token can assume the identity `uid`. `isVerified`: it is a token of this server with a verified signature.
   * Returns the identity's expiry in milliseconds since 1970; Infinity: never.
   */
  checkIdentity(uid: string, token: Token, isVerified: boolean): Promise<number>;
  /** Returns the UID of the token's registered user. Throws NOT_FOUND if there is none. */
  findPerson(token: Token): Promise<string>;
  /**
   * Returns the UID of an ID token's user. Throws unless the provider's issuer signed it for the provider's client. An undefined
   * `provider` yields the same error as a wrong issuer.
   */
  findPersonOfProvider(token: Token, provider: Provider | undefined): Promise<string>;
  /**
   * Throws unless a trusted issuer of users signed the token. `audiences`: audiences accepted for it in addition to this server's;
   * undefined if no provider names the issuer, which then must have registered users.
   */
  checkNewcomer(token: Token, audiences: readonly string[] | undefined): Promise<void>;
}

const invalidClaim = (claim: string, found: string): Fault => denied(`the token cannot assume this identity: invalid ${JSON.stringify(claim)}: ${found}`);

// One error for unknown identities and other issuers, so that only a matching token reveals an identity (attack 79).
const otherIssuer = ({ issuer }: Token): Fault => invalidClaim("iss", `no identity of this uid takes tokens of the issuer ${quoteForError(issuer)}`);

/** Reports the token's own value, but not the expected one (claims.ts: Mismatch). */
const mismatchFault = (token: Token, { claim, wanted }: Mismatch): Fault => {
  const value = claimOf(token.claims, claim);
  const found = value === undefined ? "the token does not have it" : `the token has ${quoteClaim(value)}`;
  return invalidClaim(claim, `${found}; ${wanted === undefined ? "callers that can read the identity see the expected value" : `expected ${wanted}`}`);
};

/** Returns the identity's expiry in milliseconds since 1970. Throws if it has passed; call it only once the token matches. */
export const checkIdentityEnd = ({ expireTimeMs = Number.POSITIVE_INFINITY }: Identity, nowMs: number): number => {
  if (expireTimeMs <= nowMs) throw denied(`the identity ended at ${timestamp(expireTimeMs)} (its expireTime), and cannot be assumed any more`);
  return expireTimeMs;
};

/** Marks signatures verified by published keys. */
const issuerKeys = "published";

export const openForeignTokens = (dependencies: {
  readonly store: Store;
  readonly issuers: Issuers;
  readonly audiences: Audiences;
  readonly clock: Clock;
  readonly issuerHosts: IssuerHosts;
}): ForeignTokens => {
  const { store, issuers, audiences, clock, issuerHosts } = dependencies;

  // Cached with the keys that verified it: any tenant can register an issuer's name with its own keys, which must not count
  // elsewhere (attack 11). Entries expire with the issuer's key set, so withdrawn keys stop working.
  const signatures = lruCache<{ readonly by: string; readonly untilMs: number }>(limits.tokenCacheEntries);
  const verifyOnce = async (token: Token, by: string, verify: () => Promise<void>): Promise<void> => {
    const cached = signatures.peek(token.text);
    if (cached?.by === by && cached.untilMs > clock()) return;
    await verify();
    const untilMs = Math.min(tokenEndMs(token), clock() + limits.issuerKeysLifetimeMs);
    signatures.set(token.text, { by, untilMs }, entryWeightOf(token.text, by));
  };

  const keySets = lruCache<LocalJWKSet>(limits.issuerCacheEntries);
  const keySetOf = (json: string): LocalJWKSet => {
    const cached = keySets.use(json);
    if (cached !== undefined) return cached;
    // Stored unvalidated (server/iam/resources/identity.ts).
    const refuse = (cause?: unknown): Fault =>
      unauthenticated(`this identity cannot be assumed: its staticKeys.issuerKeys are not a JSON Web Key Set ({"keys": [...]})`, cause);
    const keys = parseObject(json);
    if (!Array.isArray(keys?.keys) || keys.keys.length === 0) throw refuse();
    try {
      const keySet = createLocalJWKSet(keys as unknown as JSONWebKeySet);
      keySets.set(json, keySet, entryWeightOf(json));
      return keySet;
    } catch (cause) {
      throw refuse(cause);
    }
  };

  const checkStaticKeys = async (keys: JsonObject, token: Token): Promise<void> => {
    const mismatch = staticKeysMismatch(keys, token, audiences.accepted);
    if (mismatch?.claim === "iss") throw otherIssuer(token);
    const json = text(keys, "issuerKeys");
    await verifyOnce(token, json, () => checkSignature(token, keySetOf(json), foreignAlgorithms));
    if (mismatch !== undefined) throw mismatchFault(token, mismatch);
    const expirationTime = text(keys, "expirationTime");
    // An unreadable time counts as past.
    if (expirationTime !== "" && !(Date.parse(expirationTime) > clock())) throw denied(`the identity's keys have expired at ${expirationTime}`);
  };

  const checkClaimMatch = async (uid: string, match: JsonObject, token: Token, isVerified: boolean): Promise<void> => {
    // Only a matching issuer may be contacted (attack 18). Other claims are compared after the signature, so that made-up tokens
    // cannot probe them.
    if (!matchesIssuer(match, token.issuer, matchingBudget())) throw otherIssuer(token);
    if (!isVerified) {
      const organization = rootOf(uid);
      const isLiteral = normalIssuer(text(match, "issuer")) === normalIssuer(token.issuer);
      const byPattern = isLiteral ? undefined : (host: string): boolean => isNamedHost(text(match, "issuerPattern"), host, issuerHosts);
      await verifyOnce(token, issuerKeys, () => issuers.verify(token, { tenant: { organization }, byPattern }));
    }
    const mismatch = claimMismatch(match, token, audiences.accepted);
    if (mismatch !== undefined) throw mismatchFault(token, mismatch);
  };

  /** Refreshed every issuerRetryMs. */
  const peopleIssuers = lruCache<{ readonly namesPeople: boolean; readonly untilMs: number }>(limits.issuerCacheEntries);
  const isPeopleIssuer = async (issuer: string): Promise<boolean> => {
    const cached = peopleIssuers.use(issuer);
    if (cached !== undefined && cached.untilMs > clock()) return cached.namesPeople;
    const namesPeople = await hasPersonOfIssuer(store.read, issuerSpellingsOf(issuer));
    peopleIssuers.set(issuer, { namesPeople, untilMs: clock() + limits.issuerRetryMs });
    return namesPeople;
  };

  const isPerson = (found: Identity, token: Token): boolean =>
    found.relationship === "RELATIONSHIP_TYPE_UNSPECIFIED" && normalIssuer(found.issuer) === normalIssuer(token.issuer) && found.subject === token.subject;

  return {
    checkIdentity: async (uid, token, isVerified) => {
      const found = await findIdentity(store.read, uid);
      switch (found?.relationship) {
        case "RELATIONSHIP_TYPE_CLAIM_MATCH":
          await checkClaimMatch(uid, found.claimMatch ?? {}, token, isVerified);
          return checkIdentityEnd(found, clock());
        case "RELATIONSHIP_TYPE_STATIC":
          await checkStaticKeys(found.staticKeys ?? {}, token);
          return checkIdentityEnd(found, clock());
        default:
          // Includes AWS identities, and service principals of the platform, which do not exist here.
          throw otherIssuer(token);
      }
    },
    findPerson: async (token) => {
      const uid = personUid(token.issuer, token.subject);
      const found = await findIdentity(store.read, uid);
      const isRegistered = found !== undefined && isPerson(found, token);
      if (!isRegistered && !(await isPeopleIssuer(token.issuer)))
        throw unauthenticated(
          `the token's issuer ${quoteForError(token.issuer)} is not known here, and this server is ${[...audiences.accepted][0] ?? ""}: ` +
            "use a token of this server, name the identity to act as, or register",
        );
      await verifyOnce(token, issuerKeys, () => issuers.verify(token, { tenant: "people" }));
      // A token for another service is no sign-in here.
      audiences.check(token.audience);
      if (!isRegistered) throw new Fault("NOT_FOUND", "account not found, registration required");
      return uid;
    },
    findPersonOfProvider: async (token, provider) => {
      // Before the issuer is contacted (attack 18).
      if (!provider || normalIssuer(provider.oidc.issuer) !== normalIssuer(token.issuer))
        throw denied(`no identity provider of this uid takes tokens of the issuer ${quoteForError(token.issuer)}`);
      await verifyOnce(token, issuerKeys, () => issuers.verify(token, { tenant: { organization: rootOf(provider.uid) } }));
      // OpenID Connect Core §3.1.3.7: an ID token is valid only for its own client.
      const { clientId } = provider.oidc;
      const { azp } = token.claims;
      const isForClient = token.audience.includes(clientId) && (azp === undefined ? token.audience.length === 1 : azp === clientId);
      if (!isForClient) throw unauthenticated("the token is not an ID token for the client of the identity provider (aud, azp)");
      return personUid(token.issuer, token.subject);
    },
    checkNewcomer: async (token, providerAudiences) => {
      // Before the issuer is contacted (attack 18).
      if (providerAudiences === undefined && !(await isPeopleIssuer(token.issuer)))
        throw unauthenticated(`the token's issuer ${quoteForError(token.issuer)} is not allowed to register users on this server`);
      await verifyOnce(token, issuerKeys, () => issuers.verify(token, { tenant: "people" }));
      if (!token.audience.some((entry) => providerAudiences?.includes(entry))) audiences.check(token.audience);
    },
  };
};
