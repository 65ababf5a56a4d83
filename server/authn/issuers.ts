// The keys of foreign issuers: OIDC discovery, then the key set, both through the guarded client, and cached.
//
// An issuer is asked once at a time and, whatever tokens name it, at most every issuerRetryMs, one that failed after pauses
// that grow: tokens with made-up key names cannot make us a flood (attack 18), and an issuer that is down costs one wait,
// not one per request. Made-up issuers that fit a pattern are few in any interval (attack 38).
// Keys of half their lifetime are renewed in the background, so that a short outage is not noticed; keys beyond
// their lifetime are not used: any doubt about an issuer is a denial (attack 23).

import type { JSONWebKeySet, LocalJWKSet } from "jose";
import * as errors from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import { denied, Fault, throttled, unauthenticated } from "#base/fault.ts";
import { text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { withoutTrailingSlash } from "./audiences.ts";
import { parseObject } from "./claims.ts";
import { entryWeightOf } from "./lru-cache.ts";
import { type Outbound, type OutboundTenant, shareKey } from "./outbound.ts";
import { openPauses } from "./pauses.ts";
import { normalIssuer } from "./people.ts";
import { sharedCache } from "./shared-cache.ts";
import { checkSignature, foreignAlgorithms, quoteForError, type Token } from "./token.ts";

interface CachedKeys {
  readonly keys: LocalJWKSet;
  /** Milliseconds since 1970. */
  readonly fetchedMs: number;
}

/** Why an issuer may be asked: who names it, and how. */
export interface IssuerNaming {
  /** The organization that names the issuer, or "people" for an issuer whose users are registered: then its host has the share. */
  readonly tenant: OutboundTenant;
  /** By a pattern, so that whoever makes up a token may have made up the issuer; true where the pattern names this host, too. */
  readonly byPattern?: ((host: string) => boolean) | undefined;
}

export interface Issuers {
  /** Whether the token's issuer signed it. Only for issuers that the caller found reason to contact. */
  verify(token: Token, naming: IssuerNaming): Promise<void>;
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

const fetchJson = async (outbound: Outbound, url: string, tenant: OutboundTenant): Promise<JsonObject> => {
  const answer = await outbound.fetch("issuer", url, { tenant, headers: { accept: "application/json" } });
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
  const document = parseObject(new TextDecoder().decode(answer.body));
  if (document === undefined) throw new Error(`${url} did not return a JSON object`);
  return document;
};

const fetchKeys = async (outbound: Outbound, issuer: string, tenant: OutboundTenant): Promise<JSONWebKeySet> => {
  const discovery = await fetchJson(outbound, `${issuerUrlOf(issuer)}/.well-known/openid-configuration`, tenant);
  if (discovery.issuer !== issuer) throw new Error("the discovery document names another issuer");
  const keys = await fetchJson(outbound, text(discovery, "jwks_uri"), tenant);
  if (!Array.isArray(keys.keys)) throw new Error("the key set has no keys");
  const keySet = keys as unknown as JSONWebKeySet;
  // It throws where these are no keys.
  createLocalJWKSet(keySet);
  return keySet;
};

/** Asks an issuer for its keys, once and unremembered. Throws with what is wrong, for the operator alone. */
export const checkIssuer = async (outbound: Outbound, issuer: string, organization: string): Promise<void> => {
  await fetchKeys(outbound, issuer, { organization });
};

/** Who an exchange with an issuer counts for. */
const partyOf = (issuer: string, { tenant }: IssuerNaming): string => shareKey(tenant, new URL(issuer).host);

export const openIssuers = (outbound: Outbound, clock: Clock, log: Log, siblings: Siblings = alone): Issuers => {
  const triesMax = siblings.share(limits.issuerTriesMax);
  // What is good and what failed are remembered apart, and each organization has its share of either: made-up issuers push
  // out neither the keys of true ones nor what is known of others that failed.
  const known = sharedCache<CachedKeys>(limits.issuerShareKiB, limits.issuerPartiesMax);
  const pauses = openPauses(clock, limits.issuerFailuresMax);
  /** When an issuer that has keys was asked last; as many as have. */
  const triedMs = new Map<string, number>();
  const pending = new Map<string, Promise<CachedKeys>>();
  /** For each organization, what was tried by pattern without being known or reached in the running interval. */
  const tries = new Map<string, { readonly sinceMs: number; readonly count: number }>();

  const mayTry = (issuer: string): boolean => clock() - (triedMs.get(issuer) ?? Number.NEGATIVE_INFINITY) >= limits.issuerRetryMs && pauses.mayTry(issuer);

  // Not why: whoever names addresses here would learn what this server sees at them. The log has it.
  const unreachable = (issuer: string, cause?: unknown): Fault =>
    new Fault(
      "UNAVAILABLE",
      `the keys of issuer ${quoteForError(issuer)} cannot be read: its /.well-known/openid-configuration must be reachable from this server, ` +
        "and so must the key set that it names; this server's log says what failed",
      { cause },
    );

  const countTry = (party: string): void => {
    const held = tries.get(party);
    const running = held !== undefined && clock() - held.sinceMs < limits.issuerRetryMs ? held : { sinceMs: clock(), count: 0 };
    if (running.count >= triesMax)
      throw throttled("too many unknown issuers match the patterns of one organization. Try again", {
        name: "issuer-patterns",
        quota: limits.issuerTriesMax,
        windowMs: limits.issuerRetryMs,
        retryMs: limits.issuerRetryMs,
      });
    tries.delete(party);
    tries.set(party, { ...running, count: running.count + 1 });
    const [oldest] = tries.keys();
    if (tries.size > limits.issuerPartiesMax && oldest !== undefined) tries.delete(oldest);
  };

  const returnTry = (party: string): void => {
    const held = tries.get(party);
    if (held !== undefined) tries.set(party, { ...held, count: Math.max(0, held.count - 1) });
  };

  const noteTried = (issuer: string): void => {
    triedMs.delete(issuer);
    triedMs.set(issuer, clock());
    for (const each of triedMs.keys()) {
      if (triedMs.size <= known.size + limits.issuerCacheEntries) break;
      triedMs.delete(each);
    }
  };

  const renew = (issuer: string, naming: IssuerNaming): Promise<CachedKeys> => {
    const underWay = pending.get(issuer);
    if (underWay !== undefined) return underWay;
    const party = partyOf(issuer, naming);
    const isGuess = naming.byPattern !== undefined && known.peek(issuer) === undefined;
    if (isGuess) countTry(party);
    // An organization's literal issuers are its own; strangers' made-up ones have a share beside them.
    const failureParty = isGuess ? `${party} by pattern` : party;
    const fetching = fetchKeys(outbound, issuer, naming.tenant)
      .then(
        (fetched) => {
          const cached: CachedKeys = { keys: createLocalJWKSet(fetched), fetchedMs: clock() };
          known.set(issuer, cached, party, entryWeightOf(JSON.stringify(fetched)));
          noteTried(issuer);
          pauses.succeeded(issuer);
          if (isGuess) returnTry(party);
          return cached;
        },
        (cause: unknown) => {
          // That too much is asked at once is no word about the issuer.
          if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") {
            if (isGuess) returnTry(party);
            throw cause;
          }
          pauses.failed(issuer, failureParty);
          log("authn.issuer.failed", { issuer, cause });
          throw unreachable(issuer, cause);
        },
      )
      .finally(() => pending.delete(issuer));
    pending.set(issuer, fetching);
    return fetching;
  };

  const keysOf = async (issuer: string, naming: IssuerNaming): Promise<CachedKeys> => {
    const cached = known.use(issuer, partyOf(issuer, naming));
    const ageMs = clock() - (cached?.fetchedMs ?? Number.NEGATIVE_INFINITY);
    if (cached !== undefined && ageMs < limits.issuerKeysLifetimeMs) {
      // The failure is in the log, and the keys are good for as long again.
      if (ageMs * 2 >= limits.issuerKeysLifetimeMs && mayTry(issuer)) renew(issuer, naming).catch(() => {});
      return cached;
    }
    const underWay = pending.get(issuer);
    if (underWay === undefined && !mayTry(issuer)) throw unreachable(issuer);
    if (underWay === undefined) return await renew(issuer, naming);
    return await underWay.catch((cause: unknown) => {
      // The request waited in another tenant's full queue: this tenant has a share of its own.
      if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") return renew(issuer, naming);
      throw cause;
    });
  };

  return {
    verify: async (token, naming) => {
      const issuer = normalIssuer(token.issuer);
      const { hostname } = new URL(issuerUrlOf(issuer));
      if (naming.byPattern !== undefined && !naming.byPattern(hostname))
        throw denied(`the identity's issuerPattern fits ${quoteForError(issuer)}, but does not name its host literally: an issuer is asked only where it does`);
      const cached = await keysOf(issuer, naming);
      const keyFor: LocalJWKSet = Object.assign(
        async (...parameters: Parameters<LocalJWKSet>) => {
          try {
            return await cached.keys(...parameters);
          } catch (error) {
            if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
            // The issuer may have a new key. Whoever comes while it is asked waits for that answer.
            const underWay = pending.get(issuer);
            if (underWay === undefined && !mayTry(issuer)) throw error;
            const renewed = await (underWay ?? renew(issuer, naming));
            return await renewed.keys(...parameters);
          }
        },
        { jwks: cached.keys.jwks },
      );
      await checkSignature(token, keyFor, foreignAlgorithms);
    },
  };
};
