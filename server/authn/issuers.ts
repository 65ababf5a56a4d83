// The keys of foreign issuers: OIDC discovery, then the key set, both through the guarded client, and cached.
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
import { withoutTrailingSlash } from "./audiences.ts";
import { parseObject } from "./claims.ts";
import { lruCache } from "./lru-cache.ts";
import type { Outbound } from "./outbound.ts";
import { normalIssuer } from "./people.ts";
import { checkSignature, foreignAlgorithms, quoteForError, type Token } from "./token.ts";

interface CachedKeys {
  keys: LocalJWKSet | undefined;
  /** Milliseconds since 1970. */
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
const issuerUrlOf = (issuer: string): string => {
  const url = URL.parse(issuer);
  const isCanonical =
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    (url.href === issuer || url.href === `${issuer}/`) &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === "" &&
    !issuer.endsWith("#");
  if (!isCanonical) throw unauthenticated(`the token's issuer ${quoteForError(issuer)} is not the URL of an issuer`);
  return withoutTrailingSlash(issuer);
};

const fetchJson = async (outbound: Outbound, url: string): Promise<JsonObject> => {
  const answer = await outbound.fetch("issuer", url, { headers: { accept: "application/json" } });
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
  const document = parseObject(new TextDecoder().decode(answer.body));
  if (document === undefined) throw new Error(`${url} answers no JSON object`);
  return document;
};

const fetchKeys = async (outbound: Outbound, issuer: string): Promise<LocalJWKSet> => {
  const discovery = await fetchJson(outbound, `${issuerUrlOf(issuer)}/.well-known/openid-configuration`);
  if (discovery.issuer !== issuer) throw new Error("the discovery document names another issuer");
  const keys = await fetchJson(outbound, text(discovery, "jwks_uri"));
  if (!Array.isArray(keys.keys)) throw new Error("the key set has no keys");
  return createLocalJWKSet(keys as unknown as JSONWebKeySet);
};

export const openIssuers = (outbound: Outbound, clock: Clock, log: Log): Issuers => {
  const cache = lruCache<CachedKeys>(limits.issuerCacheEntries);

  const cachedKeysOf = (issuer: string): CachedKeys => {
    const found = cache.use(issuer);
    if (found !== undefined) return found;
    const never = Number.NEGATIVE_INFINITY;
    const entry: CachedKeys = { keys: undefined, fetchedMs: never, triedMs: never, pending: undefined };
    cache.set(issuer, entry);
    return entry;
  };

  const mayTry = (cached: CachedKeys): boolean => clock() - cached.triedMs >= limits.issuerRetryMs;

  const unreachable = (issuer: string, cause?: unknown): Fault =>
    new Fault("UNAVAILABLE", `the keys of issuer ${quoteForError(issuer)} cannot be read`, { cause });

  const renew = (issuer: string, cached: CachedKeys): Promise<void> => {
    cached.triedMs = clock();
    cached.pending ??= fetchKeys(outbound, issuer)
      .then(
        (keys) => {
          cached.keys = keys;
          cached.fetchedMs = clock();
        },
        (cause: unknown) => {
          log("authn.issuer.failed", { issuer, cause });
          throw unreachable(issuer, cause);
        },
      )
      .finally(() => {
        cached.pending = undefined;
      });
    return cached.pending;
  };

  const keysOf = async (issuer: string, cached: CachedKeys): Promise<LocalJWKSet> => {
    const ageMs = clock() - cached.fetchedMs;
    if (cached.keys !== undefined && ageMs < limits.issuerKeysLifetimeMs) {
      // The failure is in the log, and the keys are good for as long again.
      if (ageMs * 2 >= limits.issuerKeysLifetimeMs && mayTry(cached)) renew(issuer, cached).catch(() => {});
      return cached.keys;
    }
    if (cached.pending === undefined && !mayTry(cached)) throw unreachable(issuer);
    await (cached.pending ?? renew(issuer, cached));
    if (cached.keys === undefined) throw unreachable(issuer);
    return cached.keys;
  };

  return {
    verify: async (token) => {
      const issuer = normalIssuer(token.issuer);
      issuerUrlOf(issuer);
      const cached = cachedKeysOf(issuer);
      const keys = await keysOf(issuer, cached);
      const keyFor: LocalJWKSet = Object.assign(
        async (...parameters: Parameters<LocalJWKSet>) => {
          try {
            return await keys(...parameters);
          } catch (error) {
            if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
            // The issuer may have a new key. Whoever comes while it is asked waits for that answer.
            if (cached.pending !== undefined) await cached.pending;
            else if (mayTry(cached)) await renew(issuer, cached);
            else throw error;
            return await (cached.keys ?? keys)(...parameters);
          }
        },
        { jwks: keys.jwks },
      );
      await checkSignature(token, keyFor, foreignAlgorithms);
    },
  };
};
