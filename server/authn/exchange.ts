// Exchanges a foreign token for one of this server (authentication.md: 3.1).

import { denied, invalid, unauthenticated } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { findIdentity, findProvider, isGrantRevoked, isOrganizationSuspended } from "#iam/store";
import type { Store } from "#db";
import type { Audiences } from "./audiences.ts";
import { isAwsToken, type AwsTokens } from "./aws.ts";
import { actClaimOf, type Caller, verifiedEmailOf } from "./caller.ts";
import { type Downscoping, downscope, notDownscoped, readDownscoping, type TokenRequest } from "./downscope.ts";
import { checkIdentityEnd, type ForeignTokens } from "./foreign-tokens.ts";
import type { Keys } from "#signing";
import { recordLastSeen } from "./last-seen.ts";
import { mintToken, readOwnToken } from "./mint.ts";
import { readBearer, readToken, type Token } from "./token.ts";

export interface ExchangeRequest {
  readonly authorization: string | undefined;
  /** Audience of the new token; empty: this server. */
  readonly audience: readonly string[];
  /** Assumable identity to act as; "" for the token's user. */
  readonly identity: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  /** The organization's identity provider that issued the token to its client. */
  readonly through?: {
    readonly uid: string;
    /** Throws unless the user is an active member of the provider's organization. */
    readonly admit: (personUid: string) => Promise<void>;
  };
}

export interface Issued {
  readonly token: string;
  readonly expireTimeMs: number;
}

interface TokenSubject {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly email: string | undefined;
  /** Sign-in with permissions from groups. */
  readonly session?: string | undefined;
  /** Session of the token: revoking it revokes this token too. */
  readonly grant?: string | undefined;
}

interface ExchangeSubject extends TokenSubject {
  /** Bounds the tokens of an assumed identity. */
  readonly identityEndMs?: number;
  /** Root of the only organization in which the token is valid. */
  readonly within?: string;
}

export interface Exchanged extends Issued {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly session: string | undefined;
}

export interface IssueRequest extends TokenSubject {
  /** Upper bound of the token's permissions. */
  readonly downscoping: Downscoping;
  readonly requested: TokenRequest;
  readonly untilMs: number;
}

export interface IssueDependencies {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly issuer: string;
  readonly knownCapabilities: ReadonlySet<string>;
}

/** Issues a token with the intersection of both limits. */
export const issueToken = async (dependencies: IssueDependencies, request: IssueRequest): Promise<Issued> => {
  const { keys, clock, issuer, knownCapabilities } = dependencies;
  const { capabilities, scopes } = downscope(request.downscoping, readDownscoping(request.requested, knownCapabilities));
  const audience = request.requested.audience.filter((entry) => entry !== "");
  return mintToken(keys, clock, issuer, {
    uid: request.uid,
    audience: audience.length === 0 ? [issuer] : [...new Set(audience)],
    act: request.act,
    email: request.email,
    session: request.session,
    grant: request.grant,
    capabilities,
    scopes,
    lifetimeMs: request.untilMs - clock(),
  });
};

export interface ExchangeDependencies extends IssueDependencies {
  readonly store: Store;
  readonly log: Log;
  readonly audiences: Audiences;
  readonly foreignTokens: ForeignTokens;
  readonly awsTokens: AwsTokens;
}

export const openExchange = (dependencies: ExchangeDependencies): ((request: ExchangeRequest) => Promise<Exchanged>) => {
  const { store, keys, clock, log, issuer, audiences, foreignTokens, awsTokens, knownCapabilities } = dependencies;

  /** Undefined for tokens of other issuers. */
  const ownCallerOf = async (token: Token): Promise<Caller | undefined> => {
    if (token.issuer !== issuer) return undefined;
    const caller = await readOwnToken(keys, token);
    // The new token may be for another audience, which cannot check revocation (attack 262).
    if (caller.grant !== undefined && (await isGrantRevoked(store.read, caller.grant))) throw unauthenticated("the session of this token was revoked");
    const found = await findIdentity(store.read, caller.uid);
    if (!found) throw unauthenticated("the identity that the token acts as does not exist any more");
    // The identity's expiry may be earlier than at the time of issue.
    return { ...caller, expireTimeMs: Math.min(caller.expireTimeMs, checkIdentityEnd(found, clock())) };
  };

  const subjectOf = async (token: Token, own: Caller | undefined, identity: string): Promise<ExchangeSubject> => {
    const upstream = { act: actClaimOf(token), email: verifiedEmailOf(token.claims).email };
    if (identity !== "" && identity !== own?.uid) {
      const identityEndMs = await foreignTokens.checkIdentity(identity, token, own !== undefined);
      // The email belongs to the user, not to the identity: it stays in `act`.
      return { uid: identity, act: upstream.act, email: undefined, grant: own?.grant, identityEndMs };
    }
    if (own === undefined) return { uid: await foreignTokens.findPerson(token), ...upstream };
    // Tokens for another audience (a registry, a webhook receiver) were disclosed to third keysByCaller, which must not exchange them for
    // one for the API.
    audiences.check(own.audience);
    return { uid: own.uid, act: own.act, email: own.email, session: own.session, grant: own.grant };
  };

  /** Administrators of a provider can forge ID tokens of any user of its issuer, so the token is valid in its organization only. */
  const subjectOfProvider = async (token: Token | undefined, { through, identity, audience }: ExchangeRequest): Promise<ExchangeSubject> => {
    if (identity !== "") throw invalid([{ field: "identity", description: "cannot be given together with identity_provider" }]);
    // Other services would ignore the limit.
    if (audience.some((entry) => entry !== "" && !audiences.accepted.has(entry)))
      throw invalid([{ field: "aud", description: "with identity_provider a token is for this server alone" }]);
    if (!through || !token || token.issuer === issuer) throw unauthenticated("with identity_provider the token must be an ID token of that identity provider");
    const uid = await foreignTokens.findPersonOfProvider(token, await findProvider(store.read, through.uid));
    await through.admit(uid);
    const within = rootOf(through.uid);
    if (await isOrganizationSuspended(store.read, within)) throw denied("the organization of this identity provider is suspended");
    return { uid, act: actClaimOf(token), email: undefined, within };
  };

  const subjectOfAws = async (presented: string, identity: string): Promise<ExchangeSubject> => {
    if (identity === "") throw unauthenticated("an AWS request acts as an assumable identity: name it");
    const { act, identityEndMs } = await awsTokens.verify(identity, presented);
    return { uid: identity, act, email: undefined, identityEndMs };
  };

  return async (request) => {
    const presented = readBearer(request.authorization);
    const token = isAwsToken(presented) ? undefined : readToken(presented, clock());
    // Validated before the issuer is contacted.
    readDownscoping(request, knownCapabilities);
    const own = token && (await ownCallerOf(token));
    const subject = request.through
      ? await subjectOfProvider(token, request)
      : token
        ? await subjectOf(token, own, request.identity)
        : await subjectOfAws(presented, request.identity);
    // Disclosed only to callers that may assume the identity (resources: Groups, status). Users belong to no organization.
    if (!isRoot(subject.uid) && (await isOrganizationSuspended(store.read, rootOf(subject.uid))))
      throw denied("the organization of this identity is suspended");
    const issued = await issueToken(dependencies, {
      ...subject,
      downscoping: subject.within === undefined ? (own ?? notDownscoped) : { capabilities: undefined, scopes: [subject.within] },
      requested: request,
      // Never outlives the presented token, or a stolen one could be renewed indefinitely.
      untilMs: Math.min(own === undefined ? clock() + limits.accessTokenLifetimeMs : own.expireTimeMs, subject.identityEndMs ?? Number.POSITIVE_INFINITY),
    });
    await recordLastSeen(store, log, subject.uid, clock());
    return { ...issued, uid: subject.uid, act: subject.act, session: subject.session };
  };
};
