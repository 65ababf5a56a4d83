// Whom a foreign token may act as. The identity's row is read for every question and decides; only that a
// signature is right is remembered (decisions: Access).

import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from "jose";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Store } from "#store";
import type { Audiences } from "./audiences.ts";
import { bounded, weightOf } from "./bounded.ts";
import { mismatch, objectOf, staticMismatch, takesIssuer } from "./claims.ts";
import { personUid, normalIssuer, spellingsOf } from "./people.ts";
import { findIdentity, namesPeople, type Identity } from "./identities.ts";
import type { Issuers } from "./issuers.ts";
import { checkSignature, endMs, foreignAlgorithms, shown, type Token } from "./token.ts";

export interface Assume {
  /**
   * Refuses unless the token may act as the assumable identity `uid`. `vouched`: the token is one of ours, and its
   * signature was looked at.
   */
  identity(uid: string, token: Token, vouched: boolean): Promise<void>;
  /** The uid of the registered human whom the token names. Throws NOT_FOUND for one who is not registered. */
  human(token: Token): Promise<string>;
  /**
   * Refuses unless the token's issuer may speak for people and signed it. `audiences`: besides ours those for which
   * somebody names the issuer; undefined: nobody does, then it must have named people before.
   */
  newcomer(token: Token, audiences: readonly string[] | undefined): Promise<void>;
}

// The same words for an identity that is unknown and for one that takes no tokens of this issuer: only who was
// told its uid and holds a fitting token learns that it exists.
const unfit = (claim: string): Fault => denied(`the token may not act as this identity: invalid ${JSON.stringify(claim)}`);

/** Which keys vouched: the issuer's own, or a set that some identity brought along, by its text. */
const published = "published";

export const openAssume = (parts: { readonly store: Store; readonly issuers: Issuers; readonly expected: Audiences; readonly clock: Clock }): Assume => {
  const { store, issuers, expected, clock } = parts;

  // A signature is remembered together with the keys that it was checked against: any tenant may register an
  // issuer's name with keys of its own, and what those vouch for must not count for anybody else (attack 11).
  // A key that its issuer withdrew stops counting when the issuer's key set would be renewed.
  const signatures = bounded<{ readonly by: string; readonly untilMs: number }>(limits.tokenCacheEntries);
  const verifyOnce = async (token: Token, by: string, verify: () => Promise<void>): Promise<void> => {
    const known = signatures.peek(token.text);
    if (known?.by === by && known.untilMs > clock()) return;
    await verify();
    const untilMs = Math.min(endMs(token), clock() + limits.issuerKeysLifetimeMs);
    signatures.set(token.text, { by, untilMs }, weightOf(token.text, by));
  };

  const keySets = bounded<LocalJWKSet>(limits.issuerCacheEntries);
  const keySetOf = (json: string): LocalJWKSet => {
    const known = keySets.use(json);
    if (known !== undefined) return known;
    try {
      const made = createLocalJWKSet((objectOf(json) ?? {}) as unknown as JSONWebKeySet);
      keySets.set(json, made, weightOf(json));
      return made;
    } catch (cause) {
      throw unauthenticated("the identity's keys are not a JSON Web Key Set", cause);
    }
  };

  const withStaticKeys = async (keys: JsonObject, token: Token): Promise<void> => {
    const wrong = staticMismatch(keys, token, expected.accepted);
    if (wrong === "iss") throw unfit("iss");
    const json = text(keys, "issuerKeys");
    await verifyOnce(token, json, () => checkSignature(token, keySetOf(json), foreignAlgorithms));
    if (wrong !== undefined) throw unfit(wrong);
    const expires = text(keys, "expirationTime");
    // A time that cannot be read is one that has passed.
    if (expires !== "" && !(Date.parse(expires) > clock())) throw denied(`the identity's keys have expired at ${expires}`);
  };

  const withClaims = async (match: JsonObject, token: Token, vouched: boolean): Promise<void> => {
    // Before the issuer is contacted: that this identity names it is the only reason to (attack 18). The other
    // claims are compared after the signature, so that nobody can ask for them with a token made up.
    if (!takesIssuer(match, token.issuer)) throw unfit("iss");
    if (!vouched) await verifyOnce(token, published, () => issuers.verify(token));
    const wrong = mismatch(match, token, expected.accepted);
    if (wrong !== undefined) throw unfit(wrong);
  };

  /** Whether an issuer names humans, asked of the store at most every issuerRetryMs for each. */
  const trusted = bounded<{ readonly names: boolean; readonly untilMs: number }>(limits.issuerCacheEntries);
  const isTrusted = async (issuer: string): Promise<boolean> => {
    const known = trusted.use(issuer);
    if (known !== undefined && known.untilMs > clock()) return known.names;
    const names = await namesPeople(store.read, spellingsOf(issuer));
    trusted.set(issuer, { names, untilMs: clock() + limits.issuerRetryMs });
    return names;
  };

  const isHuman = (found: Identity, token: Token): boolean =>
    found.relationship === "RELATIONSHIP_TYPE_UNSPECIFIED" && normalIssuer(found.issuer) === normalIssuer(token.issuer) && found.subject === token.subject;

  return {
    identity: async (uid, token, vouched) => {
      const found = await findIdentity(store.read, uid);
      switch (found?.relationship) {
        case "RELATIONSHIP_TYPE_CLAIM_MATCH":
          return withClaims(found.claimMatch ?? {}, token, vouched);
        case "RELATIONSHIP_TYPE_STATIC":
          return withStaticKeys(found.staticKeys ?? {}, token);
        case "RELATIONSHIP_TYPE_AWS_IDENTITY":
          throw denied("this identity is assumed with AWS credentials: present a signed GetCallerIdentity request");
        case "RELATIONSHIP_TYPE_SERVICE_PRINCIPAL":
          throw denied("this identity belongs to a service of the platform, which this server does not have");
        default:
          throw unfit("iss");
      }
    },
    human: async (token) => {
      const uid = personUid(token.issuer, token.subject);
      const found = await findIdentity(store.read, uid);
      const registered = found !== undefined && isHuman(found, token);
      if (!registered && !(await isTrusted(token.issuer)))
        throw unauthenticated(`the token's issuer ${shown(token.issuer)} is not known here; name the identity to act as, or register`);
      await verifyOnce(token, published, () => issuers.verify(token));
      // A token that its issuer made for another service is no sign-in here, whoever it names.
      expected.check(token.audience);
      if (!registered) throw new Fault("NOT_FOUND", "account not found, registration required");
      return uid;
    },
    newcomer: async (token, audiences) => {
      // Before the issuer is contacted (attack 18).
      if (audiences === undefined && !(await isTrusted(token.issuer)))
        throw unauthenticated(`the token's issuer ${shown(token.issuer)} is not one that may register people here`);
      await verifyOnce(token, published, () => issuers.verify(token));
      if (!token.audience.some((entry) => audiences?.includes(entry))) expected.check(token.audience);
    },
  };
};
