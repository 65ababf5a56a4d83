// A token that somebody else vouches for becomes one of ours (authentication.md: 3.1).

import { unauthenticated, unimplemented } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Store } from "#store";
import type { Assume } from "./assume.ts";
import type { Audiences } from "./audiences.ts";
import { actorOf, emailOf, type Caller } from "./caller.ts";
import { findIdentity, noteSeen } from "./identities.ts";
import type { Keys } from "./keys.ts";
import { mint, readOwn } from "./mint.ts";
import { narrow, readNarrowing, unnarrowed, type Narrowing } from "./narrow.ts";
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

export interface ExchangeParts {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly issuer: string;
  readonly expected: Audiences;
  readonly assume: Assume;
  readonly knownCapabilities: ReadonlySet<string>;
}

/** Who the new token acts as, and what it keeps of the one that was presented. */
interface Grant {
  readonly uid: string;
  readonly act: Readonly<Record<string, string>> | undefined;
  readonly email: string | undefined;
}

export const openExchange = (parts: ExchangeParts): ((request: Exchange) => Promise<Issued>) => {
  const { store, keys, clock, log, issuer, expected, assume, knownCapabilities } = parts;

  /** The token as one of ours, with a subject that still exists; undefined where it is somebody else's. */
  const ownOf = async (token: Token): Promise<Caller | undefined> => {
    if (token.issuer !== issuer) return undefined;
    const caller = await readOwn(keys, token);
    if ((await findIdentity(store.read, caller.uid)) === undefined)
      throw unauthenticated("the identity that the token acts as does not exist any more");
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
    return { uid: own.uid, act: own.act, email: own.email };
  };

  return async (request) => {
    const token = readToken(bearer(request.authorization), clock());
    const wanted = readNarrowing(request, knownCapabilities);
    const audience = request.audience.filter((entry) => entry !== "");
    if (request.identityProvider !== undefined && request.identityProvider !== "")
      throw unimplemented("identity_provider in an exchange");

    const own = await ownOf(token);
    const { uid, act, email } = await grantOf(token, own, request.identity);
    const held: Narrowing = own ?? unnarrowed;
    const { capabilities, scopes } = narrow(held, wanted);

    const issued = await mint(keys, clock, issuer, {
      uid,
      audience: audience.length === 0 ? [issuer] : [...new Set(audience)],
      act,
      email,
      capabilities,
      scopes,
      // Made from one of ours it ends with it, to the second: else one stolen token would renew itself for ever.
      lifetimeMs: own === undefined ? limits.accessTokenLifetimeMs : own.expireTimeMs - clock(),
    });
    await noteSeen(store, log, uid, clock());
    return issued;
  };
};
