// Keys of foreign issuers, by OIDC discovery through the guarded client, and cached.
//
// An issuer has one request at a time, at most every issuerRetryMs, and backs off after failures. So made-up key IDs cannot cause a
// flood (attack 18), and an issuer that is down does not delay every request. Unknown issuers that match a pattern are limited per
// interval (attack 38). Keys are renewed in the background at half their lifetime, and never used beyond it (attack 23).

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
  readonly fetchedMs: number;
}

/** Why an issuer may be contacted. */
export interface IssuerNaming {
  /** Organization that names the issuer, or "people" for an issuer with registered users, which has a share per host. */
  readonly tenant: OutboundTenant;
  /** Set if a pattern matched, so the token's bearer may have made up the issuer; returns whether the pattern limits the host. */
  readonly byPattern?: ((host: string) => boolean) | undefined;
}

export interface Issuers {
  /** Throws unless the token's issuer signed it. Call only for issuers that may be contacted. */
  verify(token: Token, naming: IssuerNaming): Promise<void>;
}

/** Requires the canonical spelling of a URL without user name, query or fragment: parsers could read others as different hosts (attack 17). */
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
  // Throws if the keys are invalid.
  createLocalJWKSet(keySet);
  return keySet;
};

/** Fetches an issuer's keys once, uncached. Throws with the reason, for the operator only. */
export const checkIssuer = async (outbound: Outbound, issuer: string, organization: string): Promise<void> => {
  await fetchKeys(outbound, issuer, { organization });
};

const partyOf = (issuer: string, { tenant }: IssuerNaming): string => shareKey(tenant, new URL(issuer).host);

export const openIssuers = (outbound: Outbound, clock: Clock, log: Log, siblings: Siblings = alone): Issuers => {
  const triesMax = siblings.share(limits.issuerTriesMax);
  // Successes and failures are cached separately, with a share per organization, so that made-up issuers evict neither.
  const known = sharedCache<CachedKeys>(limits.issuerShareKiB, limits.issuerPartiesMax);
  const pauses = openPauses(clock, limits.issuerFailuresMax);
  const triedMs = new Map<string, number>();
  const pending = new Map<string, Promise<CachedKeys>>();
  /** Failed requests by pattern in the current interval, by organization. */
  const tries = new Map<string, { readonly sinceMs: number; readonly count: number }>();

  const mayTry = (issuer: string): boolean => clock() - (triedMs.get(issuer) ?? Number.NEGATIVE_INFINITY) >= limits.issuerRetryMs && pauses.mayTry(issuer);

  // Without the reason, which would let callers probe this server's network. The log has it.
  const unreachable = (issuer: string, cause?: unknown): Fault =>
    new Fault(
      "UNAVAILABLE",
      `the keys of issuer ${quoteForError(issuer)} cannot be read: its /.well-known/openid-configuration must be reachable from this server, ` +
        "and so must the key set that it names; this server's log says what failed",
      { cause },
    );

  const countTry = (fairnessKey: string): void => {
    const held = tries.get(fairnessKey);
    const running = held !== undefined && clock() - held.sinceMs < limits.issuerRetryMs ? held : { sinceMs: clock(), count: 0 };
    if (running.count >= triesMax)
      throw throttled("too many unknown issuers match the patterns of one organization. Try again", {
        name: "issuer-patterns",
        quota: limits.issuerTriesMax,
        windowMs: limits.issuerRetryMs,
        retryMs: limits.issuerRetryMs,
      });
    tries.delete(fairnessKey);
    tries.set(fairnessKey, { ...running, count: running.count + 1 });
    const [oldest] = tries.keys();
    if (tries.size > limits.issuerPartiesMax && oldest !== undefined) tries.delete(oldest);
  };

  const returnTry = (fairnessKey: string): void => {
    const held = tries.get(fairnessKey);
    if (held !== undefined) tries.set(fairnessKey, { ...held, count: Math.max(0, held.count - 1) });
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
    const fairnessKey = partyOf(issuer, naming);
    const isGuess = naming.byPattern !== undefined && known.peek(issuer) === undefined;
    if (isGuess) countTry(fairnessKey);
    // Made-up issuers have a separate share from an organization's literal ones.
    const failureParty = isGuess ? `${fairnessKey} by pattern` : fairnessKey;
    const fetching = fetchKeys(outbound, issuer, naming.tenant)
      .then(
        (fetched) => {
          const cached: CachedKeys = { keys: createLocalJWKSet(fetched), fetchedMs: clock() };
          known.set(issuer, cached, fairnessKey, entryWeightOf(JSON.stringify(fetched)));
          noteTried(issuer);
          pauses.succeeded(issuer);
          if (isGuess) returnTry(fairnessKey);
          return cached;
        },
        (cause: unknown) => {
          // A rate limit says nothing about the issuer.
          if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") {
            if (isGuess) returnTry(fairnessKey);
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
      // The failure is logged, and the keys stay valid as long again.
      if (ageMs * 2 >= limits.issuerKeysLifetimeMs && mayTry(issuer)) renew(issuer, naming).catch(() => {});
      return cached;
    }
    const underWay = pending.get(issuer);
    if (underWay === undefined && !mayTry(issuer)) throw unreachable(issuer);
    if (underWay === undefined) return await renew(issuer, naming);
    return await underWay.catch((cause: unknown) => {
      // The request waited in another tenant's full queue; this tenant has its own share.
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
            // The issuer may have a new key. Concurrent requests share one fetch.
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
