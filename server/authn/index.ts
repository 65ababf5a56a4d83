// The public entry of authn: who is asking (authenticate), and tokens of our own for those whom somebody else vouches
// for (exchange). What they may do, and whether they still exist, is decided elsewhere, from live data.

import { Fault, unauthenticated, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { limits } from "#base/limits.ts";
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
import { openKeys } from "./keys.ts";
import { recordLastSeen } from "./last-seen.ts";
import { entryWeightOf, lruCache } from "./lru-cache.ts";
import { type MintRequest, mintToken, readOwnToken } from "./mint.ts";
import { countOutbound } from "./counted-outbound.ts";
import { openOutbound, type Outbound } from "./outbound.ts";
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
  readonly log: Log;
  readonly metrics?: Metrics;
  /** The processes that serve together; absent: this one alone. */
  readonly siblings?: Siblings;
  /** GANTRY_PUBLIC_URL, exactly: what our tokens say as issuer. */
  readonly issuer: string;
  /** GANTRY_AUDIENCES: accepted besides the public URL and its host. */
  readonly audiences: readonly string[];
  /** GANTRY_EGRESS_ALLOW, as the operator wrote it. */
  readonly egressAllow: string;
  /** GANTRY_CA_FILE: certificate authorities besides the public ones. */
  readonly caFile?: string | undefined;
  /** GANTRY_ISSUER_HOSTS, as the operator wrote it. */
  readonly issuerHosts?: string;
  /** GANTRY_MAIL_ISSUERS, as the operator wrote it. */
  readonly mailIssuers?: string;
  /** Every capability that there is, by name: what a token can be downscoped to. */
  readonly knownCapabilities: ReadonlySet<string>;
  /** GANTRY_AWS_STS_URL: where signed GetCallerIdentity requests go; undefined: to the host that they are signed for. */
  readonly awsStsUrl?: string | undefined;
}

export interface Authn {
  /**
   * Who a request comes from; `identity` is the header Gantry-Identity. A verified token of ours is answered at
   * once, and the same token always with the same frozen object. Throws UNAUTHENTICATED, or UNAVAILABLE where a
   * foreign issuer does not answer. `address` is that of the request's origin: who has others asked (AWS) counts.
   */
  authenticate(authorization: string | undefined, identity: string | undefined, address?: () => string): Caller | Promise<Caller>;
  /** The same for the registry's operations, which accept registry tokens besides: `Caller.registry` is what those permit. */
  authenticateRegistry(authorization: string | undefined, identity: string | undefined, address?: () => string): Caller | Promise<Caller>;
  /**
   * The same at a part of this server that has an audience of its own (RFC 8707): tokens of ours for it, or for the API. Nobody
   * else's, and no identity is chosen beside the token. Throws UNAUTHENTICATED.
   */
  authenticateAt(resource: string, authorization: string | undefined): Caller | Promise<Caller>;
  /** Who asks at the SCIM address of this identity provider: the provider, by its SCIM token (scim-tokens.ts). Throws UNAUTHENTICATED. */
  authenticateScim: ScimTokens["authenticate"];
  /** The same once more, in the transaction of a write (scim-tokens.ts). Throws UNAUTHENTICATED. */
  confirmScim: ScimTokens["confirm"];
  /** True for no token, and for a good one of nobody (anonymous-token.ts). Never throws. */
  isAnonymous(authorization: string | undefined): boolean | Promise<boolean>;
  /** A token of nobody, for who asks for one before anything else; its end is in milliseconds since 1970. */
  anonymousToken(): Promise<{ readonly token: string; readonly expireTimeMs: number }>;
  /** What clients may do who are not known. */
  readonly clientLimits: ClientLimits;
  /**
   * Whom a foreign token is about, registered or not; undefined for a token of ours. `audiencesFor` gives the audiences
   * for which somebody who may let people in names the token's issuer, in its one spelling; undefined where nobody does.
   */
  upstream(authorization: string | undefined, audiencesFor: (issuer: string) => Promise<readonly string[] | undefined>): Promise<Upstream | undefined>;
  exchange(request: ExchangeRequest): Promise<Exchanged>;
  /** RFC 8693: the form of /oauth/token and its answer. */
  exchangeForm(form: URLSearchParams, authorization: string | undefined): Promise<{ readonly answer: JsonObject; readonly exchanged: Exchanged }>;
  /** A token for any identity, unasked: for the operator's command line. */
  mint(request: MintRequest): Promise<string>;
  /** The token on a delivery: that we send these very bytes ("sha256:…") to a subscription of this group. */
  deliveryToken(group: string, digest: string): Promise<string>;
  /** /.well-known/openid-configuration */
  discovery(): JsonObject;
  /** /.well-known/jwks.json */
  keys(): Promise<JsonObject>;
  /** Begins to replace the key that signs (keys.ts). */
  rotate(): Promise<void>;
  /** The same, if the key that signs has signed for limits.signingKeyLifetimeMs. */
  rotateIfDue(): Promise<void>;
  personUid(issuer: string, subject: string): string;
  /** Every spelling of that issuer, as rows may hold it. */
  issuerSpellings(issuer: string): readonly string[];
  /** Whether the operator lets the issuer say that this is somebody's e-mail address (mail-issuers.ts). */
  speaksForMail(issuer: string, email: string): boolean;
  /** A token for somebody whom a sign-in has verified. */
  issue(request: IssueRequest): Promise<Issued>;
  /** What a request asks a token to be downscoped to. Throws INVALID_ARGUMENT. */
  readDownscoping(request: TokenRequest): Downscoping;
  /**
   * The person of an ID token, after its form, times and signature were verified. Whom it is for, and that its issuer
   * may say so, is the caller's to check; so is `more`, the claims that the issuer gave besides. `organization`: the root of the
   * organization that the issuer is asked for.
   */
  verifyIdToken(text: string, more: JsonObject, organization: string): Promise<Upstream>;
  /**
   * Refuses unless the bearer of this token, which was verified, may act as the assumable identity. Returns when that ends, in
   * milliseconds since 1970; Infinity: never.
   */
  assume(identity: string, text: string): Promise<number>;
  /** Violations of an identity's patterns: too large, alone or together, or no RE2 (patterns.ts). */
  patternViolations(holder: PatternHolder): readonly Violation[];
  /** What is wrong with a pattern of issuers, as a violation's description; undefined where nothing is (issuer-hosts.ts). */
  issuerPatternProblem(pattern: string): string | undefined;
  /** Tells the log of identities whose pattern of issuers would be refused today: tokens that only it fits are. */
  reportIssuerPatterns(): Promise<void>;
  /** Tells the log, beside other work, of identities whose patterns are beyond today's bounds. */
  startPatternReport(): PatternReport;
  /**
   * The document of the client whose id is its address (Client ID Metadata Documents), as it was fetched or is remembered.
   * `address`: who has it fetched. Throws `unknownClient`, whatever is wrong, or RESOURCE_EXHAUSTED.
   */
  clientDocument(clientId: string, address: string): Promise<JsonObject>;
  /** The guarded client to issuers. */
  readonly outbound: Outbound;
  /** Closes the connections to issuers. */
  close(): Promise<void>;
}

/** What of it is wrong shows before anything is waited for. Throws a Fault of one line. */
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
  const plainOutbound = openOutbound({ siblings, allow: options.egressAllow, caFile: options.caFile, log, clock });
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

  // By the whole header: a string that is cut first would be a new one each time, hashed anew. Only what was
  // verified is cached, so that wrong tokens cannot drive out right ones.
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
    // Registry tokens have an audience of their own, and no other one (registry-token.ts).
    if (caller.registry === undefined || !caller.audience.includes(registryAudience(issuer))) audiences.check(caller.audience, resource);
    if (identity !== undefined && identity !== caller.uid)
      throw unauthenticated("a token of this server acts as its own subject: exchange it to act as another identity");
    // Never for a registry token, whatever the operator lists in GANTRY_AUDIENCES.
    const isForApi = caller.registry === undefined && audiences.includesApi(caller.audience);
    ownCallers.set(header, { caller, endMs: tokenEndMs(token), isForApi }, entryWeightOf(header));
    return caller;
  };

  const throwAsUnauthenticated = (thrown: unknown): never => {
    // In an exchange these tell the client what to do next; here the request has simply not said who it is.
    const refused = thrown instanceof Fault && (thrown.code === "PERMISSION_DENIED" || thrown.code === "NOT_FOUND");
    throw refused ? unauthenticated(thrown.message, thrown) : thrown;
  };

  const actingUidOf = async (token: Token, identity: string | undefined): Promise<string> => {
    if (identity === undefined) return foreignTokens.findPerson(token);
    if (!isUid(identity)) throw unauthenticated("the header Gantry-Identity is not the uid of an identity");
    await foreignTokens.checkIdentity(identity, token, false);
    return identity;
  };

  /** One request, one signature: nothing is cached, and the second time it is refused. */
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
    // Looked up each time: the row decides, and may have changed (decisions: Access). What is cached below is only what
    // the token itself says.
    const uid = await actingUidOf(token, identity).catch(throwAsUnauthenticated);
    // A uid has no spaces: two pairs cannot have one key (attack 11).
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
    // A client of registries that nobody has logged in with: what it shows has no subject, and would be told as malformed.
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
    // An empty header, as some clients send it, names nobody.
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
    isAnonymous: anonymousTokens.isAnonymous,
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
