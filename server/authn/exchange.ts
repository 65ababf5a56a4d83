// A token that somebody else vouches for becomes one of ours (authentication.md: 3.1).

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
import type { Keys } from "./keys.ts";
import { recordLastSeen } from "./last-seen.ts";
import { mintToken, readOwnToken } from "./mint.ts";
import { readBearer, readToken, type Token } from "./token.ts";

export interface ExchangeRequest {
  /** The whole Authorization header, with the foreign token. */
  readonly authorization: string | undefined;
  /** What the new token is for; this server where it is empty. */
  readonly audience: readonly string[];
  /** The assumable identity to act as; "" for the person whom the token names. */
  readonly identity: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  /** The organization's own identity provider that issued the foreign token to its client. */
  readonly through?: {
    readonly uid: string;
    /** Throws unless the person belongs to the provider's organization, and the provider has not deactivated them. */
    readonly admit: (personUid: string) => Promise<void>;
  };
}

export interface Issued {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expireTimeMs: number;
}

/** Who a token acts as, and what it says of whoever presented another one for it. */
interface TokenSubject {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly email: string | undefined;
  /** The sign-in whose rights the token carries besides its subject's. */
  readonly session?: string | undefined;
  /** The authorization code's grant: what takes it back takes back this token, too. */
  readonly grant?: string | undefined;
}

interface ExchangeSubject extends TokenSubject {
  /** When an assumed identity ends, in milliseconds since 1970: its tokens do by then. */
  readonly identityEndMs?: number;
  /** The only organization in which the token is good. */
  readonly within?: string;
}

/** A token that was exchanged, and whose it is. */
export interface Exchanged extends Issued {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly session: string | undefined;
}

/** A token for a subject that has been verified: by an exchange, a sign-in, or what follows from one. */
export interface IssueRequest extends TokenSubject {
  /** What the token cannot have more of. */
  readonly downscoping: Downscoping;
  readonly requested: TokenRequest;
  /** Milliseconds since 1970: it ends then at the latest. */
  readonly untilMs: number;
}

export interface IssueDependencies {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly issuer: string;
  readonly knownCapabilities: ReadonlySet<string>;
}

/** Issues a token, downscoped to what both sides allow. */
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

  /** The token as one of ours, with a subject that still exists; undefined where it is somebody else's. */
  const ownCallerOf = async (token: Token): Promise<Caller | undefined> => {
    if (token.issuer !== issuer) return undefined;
    const caller = await readOwnToken(keys, token);
    // What it is exchanged for may be for another audience, where nobody can ask whether the session was revoked (attack 262).
    if (caller.grant !== undefined && (await isGrantRevoked(store.read, caller.grant))) throw unauthenticated("the session of this token was revoked");
    const found = await findIdentity(store.read, caller.uid);
    if (!found) throw unauthenticated("the identity that the token acts as does not exist any more");
    // Its end may have come nearer since the token was issued.
    return { ...caller, expireTimeMs: Math.min(caller.expireTimeMs, checkIdentityEnd(found, clock())) };
  };

  const subjectOf = async (token: Token, own: Caller | undefined, identity: string): Promise<ExchangeSubject> => {
    const upstream = { act: actClaimOf(token), email: verifiedEmailOf(token.claims).email };
    if (identity !== "" && identity !== own?.uid) {
      const identityEndMs = await foreignTokens.checkIdentity(identity, token, own !== undefined);
      // The e-mail address is the person's who presented it, not the identity's: it stays in `act`.
      return { uid: identity, act: upstream.act, email: undefined, grant: own?.grant, identityEndMs };
    }
    if (own === undefined) return { uid: await foreignTokens.findPerson(token), ...upstream };
    // A token of ours for itself. What was made for another audience (a registry, a webhook's receiver) was shown
    // to others, who must not turn it into one for the API.
    audiences.check(own.audience);
    return { uid: own.uid, act: own.act, email: own.email, session: own.session, grant: own.grant };
  };

  /**
   * Whoever administers the identity provider can make its client's ID tokens, of every person that its issuer knows. So such a token
   * counts in the provider's organization alone: with a narrowed one nobody acts for the person elsewhere, nor changes what is theirs.
   */
  const subjectOfProvider = async (token: Token | undefined, { through, identity, audience }: ExchangeRequest): Promise<ExchangeSubject> => {
    if (identity !== "") throw invalid([{ field: "identity", description: "cannot be given together with identity_provider" }]);
    // Other services do not see that the token is narrowed.
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
    // Before the issuer is contacted: what cannot be asked for is no reason to.
    readDownscoping(request, knownCapabilities);
    const own = token && (await ownCallerOf(token));
    const subject = request.through
      ? await subjectOfProvider(token, request)
      : token
        ? await subjectOf(token, own, request.identity)
        : await subjectOfAws(presented, request.identity);
    // Said to those alone who may act as the identity (resources: Groups, status). People live in no organization.
    if (!isRoot(subject.uid) && (await isOrganizationSuspended(store.read, rootOf(subject.uid))))
      throw denied("the organization of this identity is suspended");
    const issued = await issueToken(dependencies, {
      ...subject,
      downscoping: subject.within === undefined ? (own ?? notDownscoped) : { capabilities: undefined, scopes: [subject.within] },
      requested: request,
      // Made from one of ours it ends with it, to the second: else one stolen token would renew itself for ever.
      untilMs: Math.min(own === undefined ? clock() + limits.accessTokenLifetimeMs : own.expireTimeMs, subject.identityEndMs ?? Number.POSITIVE_INFINITY),
    });
    await recordLastSeen(store, log, subject.uid, clock());
    return { ...issued, uid: subject.uid, act: subject.act, session: subject.session };
  };
};
