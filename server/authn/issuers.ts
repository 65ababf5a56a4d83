// The keys of foreign issuers: OIDC discovery, then the key set, both through the guarded client, and kept.
//
// An issuer is asked once at a time and, whatever tokens name it, at most every issuerRetryMs: tokens with made-up
// key names cannot make us a flood (attack 18), and an issuer that is down costs one wait, not one per request.
// Keys of half their lifetime are renewed in the background, so that a short outage is not noticed; keys beyond
// their lifetime are not used: any doubt about an issuer is a denial (attack 23).

import { createLocalJWKSet, errors, type JSONWebKeySet, type LocalJWKSet } from "jose";
import { Fault, unauthenticated } from "#base/fault.ts";
import { text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { baseOf } from "./audiences.ts";
import { bounded } from "./bounded.ts";
import { objectOf } from "./claims.ts";
import { normalIssuer } from "./people.ts";
import type { Outbound } from "./outbound.ts";
import { checkSignature, foreignAlgorithms, shown, type Token } from "./token.ts";

interface Known {
  keys: LocalJWKSet | undefined;
  fetchedMs: number;
  triedMs: number;
  pending: Promise<void> | undefined;
}

export interface Issuers {
  /** Whether the token's issuer signed it. Only for issuers that the caller found reason to contact. */
  verify(token: Token): Promise<void>;
}

/**
 * The issuer's URL, in the one spelling that a URL has: no user name, query or fragment, no upper case, no default
 * port, no dots. Everything else could be read as one host by us and as another by the next (attack 17).
 */
const urlOf = (issuer: string): string => {
  const url = URL.parse(issuer);
  const usual =
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    (url.href === issuer || url.href === `${issuer}/`) &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === "" &&
    !issuer.endsWith("#");
  if (!usual) throw unauthenticated(`the token's issuer ${shown(issuer)} is not the URL of an issuer`);
  return baseOf(issuer);
};

const readJson = async (outbound: Outbound, url: string): Promise<JsonObject> => {
  const answer = await outbound.fetch("issuer", url, { headers: { accept: "application/json" } });
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
  const document = objectOf(new TextDecoder().decode(answer.body));
  if (document === undefined) throw new Error(`${url} answers no JSON object`);
  return document;
};

const fetchKeys = async (outbound: Outbound, issuer: string): Promise<LocalJWKSet> => {
  const discovery = await readJson(outbound, `${urlOf(issuer)}/.well-known/openid-configuration`);
  if (discovery.issuer !== issuer) throw new Error("the discovery document names another issuer");
  const keys = await readJson(outbound, text(discovery, "jwks_uri"));
  if (!Array.isArray(keys.keys)) throw new Error("the key set has no keys");
  return createLocalJWKSet(keys as unknown as JSONWebKeySet);
};

export const openIssuers = (outbound: Outbound, clock: Clock, log: Log): Issuers => {
  const everyone = bounded<Known>(limits.issuerCacheEntries);

  const knownOf = (issuer: string): Known => {
    const found = everyone.use(issuer);
    if (found !== undefined) return found;
    const never = Number.NEGATIVE_INFINITY;
    const made: Known = { keys: undefined, fetchedMs: never, triedMs: never, pending: undefined };
    everyone.set(issuer, made);
    return made;
  };

  const mayTry = (known: Known): boolean => clock() - known.triedMs >= limits.issuerRetryMs;

  const unreachable = (issuer: string, cause?: unknown): Fault => new Fault("UNAVAILABLE", `the keys of issuer ${shown(issuer)} cannot be read`, { cause });

  const renew = (issuer: string, known: Known): Promise<void> => {
    known.triedMs = clock();
    known.pending ??= fetchKeys(outbound, issuer)
      .then(
        (keys) => {
          known.keys = keys;
          known.fetchedMs = clock();
        },
        (cause: unknown) => {
          log("authn.issuer.failed", { issuer, cause });
          throw unreachable(issuer, cause);
        },
      )
      .finally(() => {
        known.pending = undefined;
      });
    return known.pending;
  };

  const keysOf = async (issuer: string, known: Known): Promise<LocalJWKSet> => {
    const ageMs = clock() - known.fetchedMs;
    if (known.keys !== undefined && ageMs < limits.issuerKeysLifetimeMs) {
      // The failure is in the log, and the keys are good for as long again.
      if (ageMs * 2 >= limits.issuerKeysLifetimeMs && mayTry(known)) renew(issuer, known).catch(() => {});
      return known.keys;
    }
    if (known.pending === undefined && !mayTry(known)) throw unreachable(issuer);
    await (known.pending ?? renew(issuer, known));
    if (known.keys === undefined) throw unreachable(issuer);
    return known.keys;
  };

  return {
    verify: async (token) => {
      const issuer = normalIssuer(token.issuer);
      urlOf(issuer);
      const known = knownOf(issuer);
      const keys = await keysOf(issuer, known);
      const keyFor: LocalJWKSet = Object.assign(
        async (...asked: Parameters<LocalJWKSet>) => {
          try {
            return await keys(...asked);
          } catch (error) {
            if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
            // The issuer may have a new key. Whoever comes while it is asked waits for that answer.
            if (known.pending !== undefined) await known.pending;
            else if (mayTry(known)) await renew(issuer, known);
            else throw error;
            return await (known.keys ?? keys)(...asked);
          }
        },
        { jwks: keys.jwks },
      );
      await checkSignature(token, keyFor, foreignAlgorithms);
    },
  };
};
