// The face of this room: who is asking (authenticate), and tokens of our own for those whom somebody else vouches
// for (exchange). What they may do, and whether they still exist, is decided elsewhere, from live data.

import { Fault, unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import type { Store, Vault } from "#store";
import { openAssume } from "./assume.ts";
import { audiences } from "./audiences.ts";
import { awsIssuer, looksLikeAws, openAws } from "./aws.ts";
import { bounded, weightOf } from "./bounded.ts";
import { actorOf, emailOf, freeze, issueTimeOf, type Caller } from "./caller.ts";
import { openDeliveryTokens } from "./delivery-token.ts";
import { discovery } from "./discovery.ts";
import { issue, openExchange, type Exchange, type Exchanged, type Issued, type Vouched } from "./exchange.ts";
import { exchangeForm } from "./form.ts";
import { personUid, normalIssuer } from "./people.ts";
import { noteSeen } from "./identities.ts";
import { openIssuers } from "./issuers.ts";
import { openKeys } from "./keys.ts";
import { mint, readOwn, type Mint } from "./mint.ts";
import { readDownscoping, type Downscoping, type Wanted } from "./downscope.ts";
import { openOutbound, type Outbound } from "./outbound.ts";
import { bearer, endMs, readToken, type Token } from "./token.ts";
import { type Upstream, upstreamOf } from "./upstream.ts";

export type { Caller } from "./caller.ts";
export type { Purpose } from "./egress.ts";
export type { Exchange, Exchanged, Issued, Vouched } from "./exchange.ts";
export { personUid } from "./people.ts";
export type { Mint } from "./mint.ts";
export type { Downscoping, Wanted } from "./downscope.ts";
export { openOutbound, type Outbound, type OutboundReply, type OutboundRequest } from "./outbound.ts";
export { type Upstream, upstreamOf } from "./upstream.ts";

export interface AuthnOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  /** GANTRY_PUBLIC_URL, exactly: what our tokens say as issuer. */
  readonly issuer: string;
  /** GANTRY_AUDIENCES: accepted besides the public URL and its host. */
  readonly audiences: readonly string[];
  /** GANTRY_EGRESS_ALLOW, as the operator wrote it. */
  readonly egressAllow: string;
  /** Every capability that there is, by name: what a token can be narrowed to. */
  readonly knownCapabilities: ReadonlySet<string>;
  /** GANTRY_AWS_STS_URL: where signed GetCallerIdentity requests go; undefined: to the host that they are signed for. */
  readonly awsStsUrl?: string | undefined;
}

export interface Authn {
  /**
   * Who a request comes from; `identity` is the header Gantry-Identity. A verified token of ours is answered at
   * once, and the same token always with the same frozen object. Throws UNAUTHENTICATED, or UNAVAILABLE where a
   * foreign issuer does not answer.
   */
  authenticate(authorization: string | undefined, identity: string | undefined): Caller | Promise<Caller>;
  /**
   * Whom a foreign token is about, registered or not; undefined for a token of ours. `named` tells the audiences for
   * which somebody who may let people in names the token's issuer, in its one spelling; undefined where nobody does.
   */
  upstream(authorization: string | undefined, named: (issuer: string) => Promise<readonly string[] | undefined>): Promise<Upstream | undefined>;
  exchange(request: Exchange): Promise<Exchanged>;
  /** RFC 8693: the form of /oauth/token and its answer. */
  exchangeForm(form: URLSearchParams, authorization: string | undefined): Promise<{ readonly answer: JsonObject; readonly exchanged: Exchanged }>;
  /** A token without a question: for the operator's command line. */
  mint(request: Mint): Promise<string>;
  /** The token on a delivery: that we send these very bytes ("sha256:…") to a subscription of this group. */
  deliveryToken(group: string, digest: string): Promise<string>;
  /** /.well-known/openid-configuration */
  discovery(): JsonObject;
  /** /.well-known/jwks.json */
  keys(): Promise<JsonObject>;
  /** Begins to replace the key that signs (keys.ts). */
  rotate(): Promise<void>;
  /** The same where the newest key has signed for long enough (limits). */
  rotateIfDue(): Promise<void>;
  personUid(issuer: string, subject: string): string;
  /** A token for somebody whom a sign-in has vouched for. */
  issue(vouched: Vouched): Promise<Issued>;
  /** What a request asks a token to be narrowed to. Throws INVALID_ARGUMENT. */
  narrowing(wanted: Wanted): Downscoping;
  /**
   * The person of an ID token, after its form, times and signature were looked at. Whom it is for, and that its
   * issuer may say so, is the asker's to know; so is `more`, what the issuer told besides.
   */
  verifyIdToken(text: string, more: JsonObject): Promise<Upstream>;
  /** Refuses unless the bearer of this token, which was believed, may act as the assumable identity. */
  assume(identity: string, text: string): Promise<void>;
  /** The guarded client to issuers. */
  readonly outbound: Outbound;
  /** Closes the connections to issuers. */
  close(): Promise<void>;
}

export const openAuthn = async (options: AuthnOptions): Promise<Authn> => {
  const { store, vault, clock, log, issuer, knownCapabilities } = options;
  const outbound = openOutbound({ allow: options.egressAllow });
  const expected = audiences(issuer, options.audiences);
  const keys = await openKeys(store, vault, clock, log);
  const issuers = openIssuers(outbound, clock, log);
  const assume = openAssume({ store, issuers, expected, clock });
  const aws = openAws({ store, outbound, expected, clock, log, endpoint: options.awsStsUrl });
  const exchange = openExchange({ store, keys, clock, log, issuer, expected, assume, aws, knownCapabilities });

  // By the whole header: a string that is cut first would be a new one each time, hashed anew. Only what was
  // verified is held, so that wrong tokens cannot drive out right ones.
  const own = bounded<{ readonly caller: Caller; readonly endMs: number }>(limits.tokenCacheEntries);
  const foreign = bounded<Caller>(limits.tokenCacheEntries);

  const authenticateOwn = async (token: Token, header: string, identity: string | undefined): Promise<Caller> => {
    const caller = await readOwn(keys, token);
    expected.check(caller.audience);
    if (identity !== undefined && identity !== caller.uid)
      throw unauthenticated("a token of this server acts as its own subject: exchange it to act as another identity");
    own.set(header, { caller, endMs: endMs(token) }, weightOf(header));
    return caller;
  };

  const unknownCaller = (thrown: unknown): never => {
    // In an exchange these tell the client what to do next; here the request has simply not said who it is.
    const refused = thrown instanceof Fault && (thrown.code === "PERMISSION_DENIED" || thrown.code === "NOT_FOUND");
    throw refused ? unauthenticated(thrown.message, thrown) : thrown;
  };

  const assumed = async (token: Token, identity: string | undefined): Promise<string> => {
    if (identity === undefined) return assume.human(token);
    if (!isUid(identity)) throw unauthenticated("the header Gantry-Identity is not the uid of an identity");
    await assume.identity(identity, token, false);
    return identity;
  };

  /** One request, one signature: it is read anew each time, and the second time refused. */
  const authenticateAws = async (presented: string, identity: string | undefined): Promise<Caller> => {
    if (identity === undefined) throw unauthenticated("an AWS request acts as an assumable identity: name it in the header Gantry-Identity");
    const { proof, act, subject } = await aws.assume(identity, presented).catch(unknownCaller);
    await noteSeen(store, log, identity, clock());
    return freeze({
      uid: identity,
      expireTimeMs: proof.expireTimeMs,
      issueTimeMs: proof.expireTimeMs - limits.awsRequestAgeMs,
      issuer: awsIssuer,
      subject,
      audience: [proof.audience],
      act,
      capabilities: undefined,
      scopes: undefined,
    });
  };

  const authenticateForeign = async (token: Token, identity: string | undefined): Promise<Caller> => {
    // Asked anew each time: the row decides, and may have changed (decisions: Access). What is kept below says only
    // what the token itself says.
    const uid = await assumed(token, identity).catch(unknownCaller);
    // A uid has no spaces: two pairs cannot have one key (attack 11).
    const key = `${uid} ${token.text}`;
    const known = foreign.peek(key);
    if (known !== undefined) return known;
    const caller = freeze({
      uid,
      expireTimeMs: token.expireTimeMs,
      issueTimeMs: issueTimeOf(token),
      issuer: token.issuer,
      subject: token.subject,
      audience: [...token.audience],
      act: actorOf(token),
      capabilities: undefined,
      scopes: undefined,
      ...(identity === undefined ? emailOf(token.claims) : {}),
    });
    foreign.set(key, caller, weightOf(key));
    await noteSeen(store, log, uid, clock());
    return caller;
  };

  const authenticateAnew = async (header: string, identity: string | undefined): Promise<Caller> => {
    const presented = bearer(header);
    if (looksLikeAws(presented)) return authenticateAws(presented, identity);
    const token = readToken(presented, clock());
    return token.issuer === issuer ? authenticateOwn(token, header, identity) : authenticateForeign(token, identity);
  };

  return {
    authenticate: (authorization, identity) => {
      const header = authorization ?? "";
      // An empty header, as some clients send it, names nobody.
      const named = identity === "" ? undefined : identity;
      const known = own.peek(header);
      if (known !== undefined && known.endMs > clock() && (named === undefined || named === known.caller.uid)) return known.caller;
      return authenticateAnew(header, named);
    },
    upstream: async (authorization, named) => {
      const token = readToken(bearer(authorization), clock());
      if (token.issuer === issuer) return undefined;
      await assume.newcomer(token, await named(normalIssuer(token.issuer)));
      return upstreamOf(token.issuer, token.subject, token.audience, token.claims);
    },
    exchange,
    exchangeForm: (form, authorization) => exchangeForm(form, authorization, clock, exchange),
    deliveryToken: openDeliveryTokens(keys, clock, issuer),
    mint: async (request) => (await mint(keys, clock, issuer, request)).token,
    discovery: () => discovery(issuer),
    keys: () => keys.published(),
    rotate: () => keys.rotate(),
    rotateIfDue: () => keys.rotateIfDue(),
    personUid: personUid,
    issue: (vouched) => issue({ keys, clock, issuer, knownCapabilities }, vouched),
    narrowing: (wanted) => readDownscoping(wanted, knownCapabilities),
    verifyIdToken: async (text, more) => {
      const token = readToken(text, clock());
      await issuers.verify(token);
      return upstreamOf(token.issuer, token.subject, token.audience, { ...more, ...token.claims });
    },
    assume: async (identity, text) => {
      await assume.identity(identity, readToken(text, clock()), false);
      await noteSeen(store, log, identity, clock());
    },
    outbound,
    close: () => outbound.close(),
  };
};
