// Entry point of authn: authenticates requests, and issues tokens. Permissions, and whether an identity still exists, are decided
// elsewhere from live data.

import { Fault, unauthenticated, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { limits } from "#base/limits.ts";
import type { Health } from "#health";
import type { Metrics } from "#metrics";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import { findIssuerPatterns } from "#iam/store";
import type { Store, Vault } from "#db";
import { openAnonymousTokens } from "./anonymous-token.ts";
import { audiencesOf } from "./audiences.ts";
import { awsIssuer, isAwsToken, openAwsTokens } from "./aws.ts";
import { type ClientLimits, openClientLimits } from "./client-limits.ts";
import { actClaimOf, type Caller, freezeCaller, issueTimeOf, verifiedEmailOf } from "./caller.ts";
import { openClientDocuments } from "./client-documents.ts";
import { openDeliveryTokens } from "./delivery-token.ts";
import { discoveryDocument } from "./discovery.ts";
import { type Downscoping, readDownscoping, type TokenRequest } from "./downscope.ts";
import { type Exchanged, type ExchangeRequest, type Issued, type IssueRequest, issueToken, openExchange } from "./exchange.ts";
import { exchangeForm } from "./exchange-form.ts";
import { openForeignTokens } from "./foreign-tokens.ts";
import { readEgress } from "./egress.ts";
import { issuerPatternProblem, readIssuerHosts } from "./issuer-hosts.ts";
import { openIssuers } from "./issuers.ts";
import { openKeys } from "#signing";
import { recordLastSeen } from "./last-seen.ts";
import { entryWeightOf, lruCache } from "./lru-cache.ts";
import { type MintRequest, mintToken, readOwnToken } from "./mint.ts";
import { countOutbound } from "./counted-outbound.ts";
import { watchLookups } from "./dns-health.ts";
import { openOutbound, type Outbound } from "./outbound.ts";
import { resolveName } from "./resolve.ts";
import { type PatternReport, startPatternReport } from "./pattern-report.ts";
import { type PatternHolder, patternsOf, patternViolations } from "./patterns.ts";
import { readMailIssuers, speaksForMail } from "./mail-issuers.ts";
import { issuerSpellingsOf, normalIssuer, personUid } from "./people.ts";
import { readBearer, readToken, type Token, tokenEndMs } from "./token.ts";
import { registryAudience } from "./registry-token.ts";
import { openScimTokens, type ScimTokens } from "./scim-tokens.ts";
import { type Upstream, upstreamOf } from "./upstream.ts";

export type { Caller } from "./caller.ts";
export type { ClientLimits, ClientPurpose } from "./client-limits.ts";
export type { Purpose } from "./egress.ts";
export type { Exchanged, Issued } from "./exchange.ts";
export { checkIssuer } from "./issuers.ts";
export { personUid } from "./people.ts";
export { type ConnectTarget, openOutbound, type Outbound, type OutboundReply, type OutboundRequest, type OutboundTenant } from "./outbound.ts";
export { type Upstream, upstreamOf } from "./upstream.ts";

export interface AuthnOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly health: Health;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly siblings?: Siblings;
  /** GANTRY_PUBLIC_URL, exactly. */
  readonly issuer: string;
  /** GANTRY_AUDIENCES, in addition to the public URL and its host. */
  readonly audiences: readonly string[];
  /** GANTRY_EGRESS_ALLOW, unparsed. */
  readonly egressAllow: string;
  /** GANTRY_CA_FILE: certificate authorities in addition to the public ones. */
  readonly caFile?: string | undefined;
  /** GANTRY_ISSUER_HOSTS, unparsed. */
  readonly issuerHosts?: string;
  /** GANTRY_MAIL_ISSUERS, unparsed. */
  readonly mailIssuers?: string;
  readonly knownCapabilities: ReadonlySet<string>;
  /** GANTRY_AWS_STS_URL: endpoint for signed GetCallerIdentity requests; undefined: the signed host. */
  readonly awsStsUrl?: string | undefined;
}

export interface Authn {
  /**
   * Authenticates a request; `identity` is the header Gantry-Identity. Cached tokens of this server return synchronously, with an
   * identical frozen object per token. Throws UNAUTHENTICATED, or UNAVAILABLE if a foreign issuer cannot be reached. `address` is the
   * client's, for rate limits (AWS).
   */
  authenticate(authorization: string | undefined, identity: string | undefined, address?: () => string): Caller | Promise<Caller>;
  /** Also accepts registry tokens (`Caller.registry`). */
  authenticateRegistry(authorization: string | undefined, identity: string | undefined, address?: () => string): Caller | Promise<Caller>;
  /**
   * Authenticates at a part of this server with its own audience (RFC 8707), by tokens of this server for it or for the API. Throws
   * UNAUTHENTICATED.
   */
  authenticateAt(resource: string, authorization: string | undefined): Caller | Promise<Caller>;
  /** Authenticates a request to this provider's SCIM endpoint. Throws UNAUTHENTICATED. */
  authenticateScim: ScimTokens["authenticate"];
  /** Rechecks the token inside a write's transaction. Throws UNAUTHENTICATED. */
  confirmScim: ScimTokens["confirm"];
  /** Returns true without a token, and for a valid anonymous one. Never throws. */
  isAnonymous(authorization: string | undefined): boolean | Promise<boolean>;
  /** Issues an anonymous token. */
  anonymousToken(): Promise<{ readonly token: string; readonly expireTimeMs: number }>;
  readonly clientLimits: ClientLimits;
  /**
   * Returns the user of a foreign token, registered or not; undefined for a token of this server. `audiencesFor` returns the client
   * IDs of identity providers with this issuer (in canonical spelling); undefined if there are none.
   */
  upstream(authorization: string | undefined, audiencesFor: (issuer: string) => Promise<readonly string[] | undefined>): Promise<Upstream | undefined>;
  exchange(request: ExchangeRequest): Promise<Exchanged>;
  /** Handles the RFC 8693 form of /oauth/token. */
  exchangeForm(form: URLSearchParams, authorization: string | undefined): Promise<{ readonly answer: JsonObject; readonly exchanged: Exchanged }>;
  /** Issues a token for any identity without checks, for the operator's command line. */
  mint(request: MintRequest): Promise<string>;
  /** Returns a delivery's token, which attests the body's digest ("sha256:…") to a subscription of this group. */
  deliveryToken(group: string, digest: string): Promise<string>;
  discovery(): JsonObject;
  keys(): Promise<JsonObject>;
  /** Begins a rotation of the signing key (keys.ts). */
  rotate(): Promise<void>;
  /** Begins a rotation if the signing key is older than limits.signingKeyLifetimeMs. */
  rotateIfDue(): Promise<void>;
  personUid(issuer: string, subject: string): string;
  /** Returns every spelling of the issuer that rows may hold. */
  issuerSpellings(issuer: string): readonly string[];
  /** Returns whether the operator trusts the issuer's email claims for this address. */
  speaksForMail(issuer: string, email: string): boolean;
  issue(request: IssueRequest): Promise<Issued>;
  /** Validates requested limits of a token. Throws INVALID_ARGUMENT. */
  readDownscoping(request: TokenRequest): Downscoping;
  /**
   * Verifies form, times and signature of an ID token and returns its user. The caller checks audience and issuer, and `more`, the
   * claims from userinfo. `organization` is the root of the organization that the request to the issuer counts for.
   */
  verifyIdToken(text: string, more: JsonObject, organization: string): Promise<Upstream>;
  /**
   * Throws unless the bearer of this verified token can assume the identity. Returns the identity's expiry in milliseconds since 1970;
   * Infinity: never.
   */
  assume(identity: string, text: string): Promise<number>;
  /** Returns the violations of an identity's patterns. */
  patternViolations(holder: PatternHolder): readonly Violation[];
  /** Returns the violation of an issuer pattern, if any. */
  issuerPatternProblem(pattern: string): string | undefined;
  /** Logs identities with an issuer pattern that is no longer accepted. */
  reportIssuerPatterns(): Promise<void>;
  /** Logs identities with oversized patterns, in the background. */
  startPatternReport(): PatternReport;
  /**
   * Returns the metadata document of a client, fetched or cached. `address` is that of the client requesting it. Throws
   * `unknownClient` for any failure, or RESOURCE_EXHAUSTED.
   */
  clientDocument(clientId: string, address: string): Promise<JsonObject>;
  /** The guarded client to other servers. */
  readonly outbound: Outbound;
  close(): Promise<void>;
}

/** Validates settings before anything asynchronous. Throws a one-line Fault. */
export const checkAuthnOptions = ({
  egressAllow,
  issuerHosts = "",
  mailIssuers = "",
}: Pick<AuthnOptions, "egressAllow" | "issuerHosts" | "mailIssuers">): void => {
  readEgress(egressAllow);
  readIssuerHosts(issuerHosts);
  readMailIssuers(mailIssuers);
};

export const openAuthn = async (options: AuthnOptions): Promise<Authn> => {
  const { store, vault, clock, log, metrics, issuer, knownCapabilities, siblings = alone } = options;
  const resolve = watchLookups(resolveName, options.health.watch("dns"));
  const plainOutbound = openOutbound({ siblings, allow: options.egressAllow, caFile: options.caFile, log, clock, resolve });
  const outbound = metrics ? countOutbound(plainOutbound, metrics) : plainOutbound;
  const issuerHosts = readIssuerHosts(options.issuerHosts ?? "");
  const mailIssuers = readMailIssuers(options.mailIssuers ?? "");
  const audiences = audiencesOf(issuer, options.audiences);
  const clientLimits = openClientLimits(clock, vault, siblings);
  const keys = await openKeys(store, vault, clock, log);
  const issuers = openIssuers(outbound, clock, log, siblings);
  const foreignTokens = openForeignTokens({ store, issuers, audiences, clock, issuerHosts });
  const awsTokens = openAwsTokens({ siblings, store, outbound, audiences, clock, log, endpoint: options.awsStsUrl });
  const anonymousTokens = openAnonymousTokens(keys, clock, issuer);
  const scimTokens = openScimTokens(store, clock, issuer);
  const exchange = openExchange({ store, keys, clock, log, issuer, audiences, foreignTokens, awsTokens, knownCapabilities });

  // Keyed by the whole header, because a sliced string would be hashed each time. Only verified tokens are cached, so that invalid
  // ones cannot evict them.
  const ownCallers = lruCache<{ readonly caller: Caller; readonly endMs: number; readonly isForApi: boolean }>(limits.tokenCacheEntries);
  const foreignCallers = lruCache<Caller>(limits.tokenCacheEntries);
  const looked = { own: { hit: 0, miss: 0 }, foreign: { hit: 0, miss: 0 } };
  metrics?.watch("gantry_cache_requests_total", () => [
    { labels: { cache: "own_tokens", result: "hit" }, value: looked.own.hit },
    { labels: { cache: "own_tokens", result: "miss" }, value: looked.own.miss },
    { labels: { cache: "foreign_tokens", result: "hit" }, value: looked.foreign.hit },
    { labels: { cache: "foreign_tokens", result: "miss" }, value: looked.foreign.miss },
  ]);

  const authenticateOwn = async (token: Token, header: string, identity: string | undefined, resource?: string): Promise<Caller> => {
    looked.own.miss++;
    const caller = await readOwnToken(keys, token);
    // Registry tokens have only the registry's audience (registry-token.ts).
    if (caller.registry === undefined || !caller.audience.includes(registryAudience(issuer))) audiences.check(caller.audience, resource);
    if (identity !== undefined && identity !== caller.uid)
      throw unauthenticated("a token of this server acts as its own subject: exchange it to act as another identity");
    // Never for a registry token, whatever GANTRY_AUDIENCES lists.
    const isForApi = caller.registry === undefined && audiences.includesApi(caller.audience);
    ownCallers.set(header, { caller, endMs: tokenEndMs(token), isForApi }, entryWeightOf(header));
    return caller;
  };

  const throwAsUnauthenticated = (thrown: unknown): never => {
    // The specific codes help in an exchange; here the request is merely unauthenticated.
    const refused = thrown instanceof Fault && (thrown.code === "PERMISSION_DENIED" || thrown.code === "NOT_FOUND");
    throw refused ? unauthenticated(thrown.message, thrown) : thrown;
  };

  const actingUidOf = async (token: Token, identity: string | undefined): Promise<string> => {
    if (identity === undefined) return foreignTokens.findPerson(token);
    if (!isUid(identity)) throw unauthenticated("the header Gantry-Identity is not the uid of an identity");
    await foreignTokens.checkIdentity(identity, token, false);
    return identity;
  };

  /** A signed request is valid once. */
  const authenticateAws = async (presented: string, identity: string | undefined): Promise<Caller> => {
    if (identity === undefined) throw unauthenticated("an AWS request acts as an assumable identity: name it in the header Gantry-Identity");
    const { request, act, subject } = await awsTokens.verify(identity, presented).catch(throwAsUnauthenticated);
    await recordLastSeen(store, log, identity, clock());
    return freezeCaller({
      uid: identity,
      expireTimeMs: request.expireTimeMs,
      issueTimeMs: request.expireTimeMs - limits.awsRequestAgeMs,
      issuer: awsIssuer,
      subject,
      audience: [request.audience],
      act,
      capabilities: undefined,
      scopes: undefined,
    });
  };

  const authenticateForeign = async (token: Token, identity: string | undefined): Promise<Caller> => {
    // Looked up on every request (decisions: Access); only the token's own claims are cached below.
    const uid = await actingUidOf(token, identity).catch(throwAsUnauthenticated);
    // A UID contains no spaces, so keys are unique (attack 11).
    const key = `${uid} ${token.text}`;
    const cached = foreignCallers.peek(key);
    looked.foreign[cached === undefined ? "miss" : "hit"]++;
    if (cached !== undefined) return cached;
    const caller = freezeCaller({
      uid,
      expireTimeMs: token.expireTimeMs,
      issueTimeMs: issueTimeOf(token),
      issuer: token.issuer,
      subject: token.subject,
      audience: [...token.audience],
      act: actClaimOf(token),
      capabilities: undefined,
      scopes: undefined,
      ...(identity === undefined ? verifiedEmailOf(token.claims) : {}),
    });
    foreignCallers.set(key, caller, entryWeightOf(key));
    await recordLastSeen(store, log, uid, clock());
    return caller;
  };

  const authenticateUncached = async (
    header: string,
    identity: string | undefined,
    address: (() => string) | undefined,
    acceptsRegistryTokens: boolean,
  ): Promise<Caller> => {
    const presented = readBearer(header);
    if (isAwsToken(presented)) {
      if (address) clientLimits.take("exchanges", address());
      return authenticateAws(presented, identity);
    }
    // An anonymous token would otherwise be reported as malformed.
    if (await anonymousTokens.isAnonymous(header)) throw unauthenticated("authentication required: log in first");
    const token = readToken(presented, clock(), acceptsRegistryTokens);
    if (token.issuer === issuer) return authenticateOwn(token, header, identity);
    if (token.isForRegistry) throw unauthenticated("the token is a registry token of another server");
    return authenticateForeign(token, identity);
  };

  const authenticate = (
    authorization: string | undefined,
    identity: string | undefined,
    address: (() => string) | undefined,
    acceptsRegistryTokens: boolean,
  ): Caller | Promise<Caller> => {
    const header = authorization ?? "";
    // Some clients send an empty header.
    const assumed = identity === "" ? undefined : identity;
    const cached = ownCallers.peek(header);
    const isAccepted = cached !== undefined && (cached.isForApi || (acceptsRegistryTokens && cached.caller.registry !== undefined));
    if (isAccepted && cached.endMs > clock() && (assumed === undefined || assumed === cached.caller.uid)) {
      looked.own.hit++;
      return cached.caller;
    }
    return authenticateUncached(header, assumed, address, acceptsRegistryTokens);
  };

  return {
    clientLimits,
    // A known token of a caller needs no look at its parts.
    isAnonymous: (authorization) => (ownCallers.peek(authorization ?? "") === undefined ? anonymousTokens.isAnonymous(authorization) : false),
    anonymousToken: anonymousTokens.mint,
    authenticate: (authorization, identity, address) => authenticate(authorization, identity, address, false),
    authenticateRegistry: (authorization, identity, address) => authenticate(authorization, identity, address, true),
    authenticateAt: (resource, authorization) => {
      const header = authorization ?? "";
      const cached = ownCallers.peek(header);
      const isAccepted = cached !== undefined && cached.caller.registry === undefined && (cached.isForApi || cached.caller.audience.includes(resource));
      if (isAccepted && cached.endMs > clock()) {
        looked.own.hit++;
        return cached.caller;
      }
      const presented = readBearer(authorization);
      const token = isAwsToken(presented) ? undefined : readToken(presented, clock());
      if (token?.issuer !== issuer) throw unauthenticated("this endpoint accepts only tokens of this server. Exchange the token first");
      return authenticateOwn(token, header, undefined, resource);
    },
    authenticateScim: scimTokens.authenticate,
    confirmScim: scimTokens.confirm,
    upstream: async (authorization, audiencesFor) => {
      const token = readToken(readBearer(authorization), clock());
      if (token.issuer === issuer) return undefined;
      await foreignTokens.checkNewcomer(token, await audiencesFor(normalIssuer(token.issuer)));
      return upstreamOf(token.issuer, token.subject, token.audience, token.claims);
    },
    exchange,
    exchangeForm: (form, authorization) => exchangeForm(form, authorization, clock, exchange),
    deliveryToken: openDeliveryTokens(keys, clock, issuer),
    mint: async (request) => (await mintToken(keys, clock, issuer, request)).token,
    discovery: () => discoveryDocument(issuer),
    keys: () => keys.publicKeySet(),
    rotate: () => keys.rotate(),
    rotateIfDue: () => keys.rotateIfDue(),
    personUid,
    issuerSpellings: issuerSpellingsOf,
    speaksForMail: (from, email) => speaksForMail(mailIssuers, from, email),
    issue: (request) => issueToken({ keys, clock, issuer, knownCapabilities }, request),
    readDownscoping: (request) => readDownscoping(request, knownCapabilities),
    verifyIdToken: async (text, more, organization) => {
      const token = readToken(text, clock());
      await issuers.verify(token, { tenant: { organization } });
      return upstreamOf(token.issuer, token.subject, token.audience, { ...more, ...token.claims });
    },
    assume: async (identity, text) => {
      const endMs = await foreignTokens.checkIdentity(identity, readToken(text, clock()), false);
      await recordLastSeen(store, log, identity, clock());
      return endMs;
    },
    issuerPatternProblem: (pattern) => issuerPatternProblem(pattern, issuerHosts),
    reportIssuerPatterns: async () => {
      for (let last = ""; ; ) {
        const found = await findIssuerPatterns(store.read, last);
        const unfit = found.filter(({ pattern }) => issuerPatternProblem(pattern, issuerHosts) !== undefined).map(({ uid }) => uid);
        if (unfit.length > 0) log("authn.issuer_patterns.unfit", { identities: unfit, remedy: "name the host literally, or list it in GANTRY_ISSUER_HOSTS" });
        const next = found.at(-1)?.uid;
        if (next === undefined) return;
        last = next;
      }
    },
    patternViolations: (holder) => patternViolations(patternsOf(holder)),
    startPatternReport: () => startPatternReport(store, log),
    clientDocument: openClientDocuments({ outbound, clientLimits, clock, log }),
    outbound,
    close: () => outbound.close(),
  };
};
