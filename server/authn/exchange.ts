// A token that somebody else vouches for becomes one of ours (authentication.md: 3.1).

import { denied, unauthenticated, unimplemented } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Store } from "#store";
import type { Assume } from "./assume.ts";
import { looksLikeAws, type Aws } from "./aws.ts";
import type { Audiences } from "./audiences.ts";
import { actorOf, emailOf, type Caller } from "./caller.ts";
import { findIdentity, isClosed, noteSeen } from "./identities.ts";
import type { Keys } from "./keys.ts";
import { mint, readOwn } from "./mint.ts";
import { downscope, readDownscoping, notDownscoped, type Downscoping, type Wanted } from "./downscope.ts";
import { bearer, readToken, type Token } from "./token.ts";

export interface Exchange {
  /** The whole Authorization header, with the foreign token. */
  readonly authorization: string | undefined;
  /** What the new token is for; this server where it is empty. */
  readonly audience: readonly string[];
  /** The assumable identity to act as; "" for the human whom the token names. */
  readonly identity: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  readonly identityProvider?: string;
}

export interface Issued {
  readonly token: string;
  readonly expireTimeMs: number;
}

/** A token that was exchanged, and whose it is. */
export interface Exchanged extends Issued {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly session: string | undefined;
}

/** Whom a token shall be for, when somebody else has made sure who that is: a sign-in, or what follows from one. */
export interface Vouched {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly email: string | undefined;
  readonly session?: string | undefined;
  /** What the token cannot have more of. */
  readonly held: Downscoping;
  readonly wanted: Wanted;
  /** Milliseconds since 1970: it ends then at the latest. */
  readonly untilMs: number;
}

export interface IssueParts {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly issuer: string;
  readonly knownCapabilities: ReadonlySet<string>;
}

/** Issues a token for somebody vouched for, narrowed to what both sides allow. */
export const issue = async (parts: IssueParts, vouched: Vouched): Promise<Issued> => {
  const { keys, clock, issuer, knownCapabilities } = parts;
  const { capabilities, scopes } = downscope(vouched.held, readDownscoping(vouched.wanted, knownCapabilities));
  const audience = vouched.wanted.audience.filter((entry) => entry !== "");
  return mint(keys, clock, issuer, {
    uid: vouched.uid,
    audience: audience.length === 0 ? [issuer] : [...new Set(audience)],
    act: vouched.act,
    email: vouched.email,
    session: vouched.session,
    capabilities,
    scopes,
    lifetimeMs: vouched.untilMs - clock(),
  });
};

export interface ExchangeParts extends IssueParts {
  readonly store: Store;
  readonly log: Log;
  readonly expected: Audiences;
  readonly assume: Assume;
  readonly aws: Aws;
}

/** Who the new token acts as, and what it keeps of the one that was presented. */
interface Grant {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly email: string | undefined;
  readonly session?: string | undefined;
}

export const openExchange = (parts: ExchangeParts): ((request: Exchange) => Promise<Exchanged>) => {
  const { store, keys, clock, log, issuer, expected, assume, aws, knownCapabilities } = parts;

  /** The token as one of ours, with a subject that still exists; undefined where it is somebody else's. */
  const ownOf = async (token: Token): Promise<Caller | undefined> => {
    if (token.issuer !== issuer) return undefined;
    const caller = await readOwn(keys, token);
    if ((await findIdentity(store.read, caller.uid)) === undefined) throw unauthenticated("the identity that the token acts as does not exist any more");
    return caller;
  };

  const grantOf = async (token: Token, own: Caller | undefined, identity: string): Promise<Grant> => {
    const upstream = { act: actorOf(token), email: emailOf(token.claims).email };
    if (identity !== "" && identity !== own?.uid) {
      await assume.identity(identity, token, own !== undefined);
      // The e-mail address is the human's who presented it, not the identity's: it stays in `act`.
      return { uid: identity, act: upstream.act, email: undefined };
    }
    if (own === undefined) return { uid: await assume.human(token), ...upstream };
    // A token of ours for itself. What was made for another audience (a registry, a webhook's receiver) was shown
    // to others, who must not turn it into one for the API.
    expected.check(own.audience);
    return { uid: own.uid, act: own.act, email: own.email, session: own.session };
  };

  const grantOfAws = async (presented: string, identity: string): Promise<Grant> => {
    if (identity === "") throw unauthenticated("an AWS request acts as an assumable identity: name it");
    const { act } = await aws.assume(identity, presented);
    return { uid: identity, act, email: undefined };
  };

  return async (request) => {
    const presented = bearer(request.authorization);
    const token = looksLikeAws(presented) ? undefined : readToken(presented, clock());
    // Before the issuer is contacted: what cannot be asked for is no reason to.
    readDownscoping(request, knownCapabilities);
    if (request.identityProvider !== undefined && request.identityProvider !== "") throw unimplemented("identity_provider in an exchange");

    const own = token && (await ownOf(token));
    const grant = token ? await grantOf(token, own, request.identity) : await grantOfAws(presented, request.identity);
    // Said to those alone who may act as the identity.
    if (await isClosed(store.read, grant.uid)) throw denied("the organization of this identity is suspended");
    const issued = await issue(parts, {
      ...grant,
      held: own ?? notDownscoped,
      wanted: request,
      // Made from one of ours it ends with it, to the second: else one stolen token would renew itself for ever.
      untilMs: own === undefined ? clock() + limits.accessTokenLifetimeMs : own.expireTimeMs,
    });
    await noteSeen(store, log, grant.uid, clock());
    return { ...issued, uid: grant.uid, act: grant.act, session: grant.session };
  };
};
