// Refresh tokens: how a program stays signed in without asking its person again (authentication.md: 3.2).
//
// A token is base64 of a JSON object: `exp`, which clients read, the family's id, and 256 random bits. A family is
// all tokens of one sign-in, of which the latest alone works: each use replaces it in one statement. A token of the
// family that is not the latest was used before, by its owner or by a thief, and nobody can tell which; then the whole
// family ends and the person signs in anew (RFC 9700, 4.14.2). So it is with two uses at the same moment too: one
// wins, and the other, which comes after it by however little, ends what the first was given. A client that loses an
// answer therefore signs in again; it must not send a refresh token twice.

import type { Authn, Issued } from "#authn";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import { deleteRefreshToken, insertRefreshToken, isDismissedBy, replaceRefreshTokenSecret } from "#iam/store";
import type { Write } from "#db";
import { oauthFault } from "./oauth-parameters.ts";
import { audienceOfResource } from "./resources.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import { endNamedSession, newSessionId, sessionOfFamily, useSession } from "./session.ts";

/** What an authorization code gives, and to whom. */
export interface CodeGrant {
  /** 32 hexadecimal digits: also the family's id. */
  readonly id: string;
  readonly client: string;
}

export interface NewFamily {
  /** As newFamilyId gives it; absent: a new one. */
  readonly id?: string;
  /** Absent: what it gives is no client's of an authorization code. */
  readonly grant?: CodeGrant | undefined;
  readonly identity: string;
  readonly identityProvider: string;
  readonly act: Readonly<Record<string, string>>;
  readonly email: string | undefined;
  /** What every access token of the family is for, unless it is asked for something else. */
  readonly audience: readonly string[];
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export interface RefreshToken {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expireTimeMs: number;
}

/** What a refresh is asked for. */
export interface Renewal {
  readonly authorization: string | undefined;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  /** The client that it says it is; undefined where it does not. */
  readonly client?: string | undefined;
  /** The operation or path that it came by. */
  readonly operation: string;
  readonly requestSource: RequestSource;
}

/** Either both tokens, or why not: a refusal that has written something, and must not be undone by being thrown. */
export type Renewed = { readonly access: Issued; readonly refresh: RefreshToken } | { readonly refusal: Fault };

const encodeToken = (id: string, secret: string, expireTimeMs: number): RefreshToken => ({
  token: Buffer.from(JSON.stringify({ exp: Math.floor(expireTimeMs / 1000), id, secret })).toString("base64"),
  expireTimeMs,
});

/** Returns the ID of a new family: that of the grant, or one that nothing shows but the refresh token. */
export const newFamilyId = (grant: CodeGrant | undefined): string => grant?.id ?? newSessionId();

/** Times as a token holds them: whole seconds. */
const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/**
 * Begins a family and gives its first token. Undefined where the person or the provider is gone meanwhile: a row made
 * after their end would outlive them.
 */
export const beginFamily = async (rows: Write, family: NewFamily, nowMs: number): Promise<RefreshToken | undefined> => {
  const id = family.id ?? newFamilyId(family.grant);
  const secret = newSecret();
  const untilMs = wholeSeconds(nowMs + limits.refreshTokenLifetimeMs);
  const inserted = await insertRefreshToken(rows, {
    id,
    secretHash: secretHashOf(secret),
    identityUid: family.identity,
    identityProviderUid: family.identityProvider,
    audience: family.audience,
    act: family.act,
    email: family.email,
    capabilities: family.capabilities,
    scopes: family.scopes,
    client: family.grant?.client,
    createTimeMs: nowMs,
    expireTimeMs: untilMs,
  });
  return inserted ? encodeToken(id, secret, untilMs) : undefined;
};

const bearerScheme = /^bearer +/i;

/** The family's id and the secret of a token's text. */
export const decodeToken = (authorization: string | undefined): { readonly id: string; readonly secret: string } => {
  const start = bearerScheme.exec(authorization ?? "")?.[0].length;
  if (authorization === undefined || start === undefined)
    throw unauthenticated("the request carries no refresh token: send Authorization: Bearer <refresh token>");
  const malformed = unauthenticated("the refresh token is malformed");
  const text = authorization.slice(start);
  if (text.length > limits.tokenBytesMax) throw malformed;
  let value: Json;
  try {
    value = JSON.parse(Buffer.from(text, "base64").toString("utf8")) as Json;
  } catch {
    throw malformed;
  }
  const { id, secret } = isObject(value) ? value : {};
  // In these letters alone: the id goes into a statement, and a NUL would make that our own fault.
  if (typeof id !== "string" || typeof secret !== "string" || !/^[0-9a-f]{32}$/.test(id)) throw malformed;
  return { id, secret };
};

/** New tokens for the latest refresh token of a family, in the caller's transaction; the end of the family for any other. */
export const renew = async (
  rows: Write,
  { authn, log, publicUrl }: { readonly authn: Pick<Authn, "clientLimits" | "issue" | "readDownscoping">; readonly log: Log; readonly publicUrl: string },
  renewal: Renewal,
  nowMs: number,
): Promise<Renewed> => {
  const { id, secret } = decodeToken(renewal.authorization);
  const { address } = renewal.requestSource.origin;
  authn.clientLimits.check("refused-refresh-tokens", address);
  const requested = { identity: "", audience: renewal.audience, capabilities: renewal.capabilities, scopes: renewal.scopes };
  // Before the token is used up.
  authn.readDownscoping(requested);
  const next = newSecret();
  const family = await replaceRefreshTokenSecret(rows, {
    id,
    secretHash: secretHashOf(secret),
    nextSecretHash: secretHashOf(next),
    client: renewal.client,
    nowMs,
    expireTimeMs: wholeSeconds(nowMs + limits.refreshTokenLifetimeMs),
  });
  // Families end with a dismissal by SCIM; one that began at the same moment, and that it did not see, ends here (attack 222).
  const isDismissed = family !== undefined && (await isDismissedBy(rows, family.identityProviderUid, family.identityUid));
  if (!family || isDismissed) {
    if (!isDismissed) authn.clientLimits.addFailure("refused-refresh-tokens", address);
    const ended = await deleteRefreshToken(rows, id, nowMs);
    if (ended) await endNamedSession(rows, sessionOfFamily(id, ended.client), ended.identityUid, nowMs);
    if (ended?.isLive && !isDismissed) log("signin.refresh.reused", { identity: ended.identityUid });
    return { refusal: unauthenticated("the refresh token has expired, was used before or was revoked: sign in again") };
  }
  // RFC 8707, 2.2: for nothing else than the person has agreed to. Thrown, it leaves the token as it was.
  const audience =
    family.client === undefined || requested.audience.length === 0 ? requested.audience : [audienceOfResource({ publicUrl }, requested.audience)];
  if (family.client !== undefined && !audience.every((each) => family.audience.includes(each)))
    throw oauthFault("invalid_target", "the refresh token was given for another resource");
  const { identityUid: identity, identityProviderUid: identityProvider, act, email, capabilities, scopes, expireTimeMs } = family;
  const access = await authn.issue({
    uid: identity,
    act,
    email,
    grant: sessionOfFamily(id, family.client),
    downscoping: { capabilities, scopes },
    requested: { ...requested, audience: audience.length > 0 ? audience : family.audience },
    untilMs: nowMs + limits.accessTokenLifetimeMs,
  });
  await useSession(rows, id, family, { address, accessExpireTimeMs: access.expireTimeMs }, nowMs);
  const { operation, requestSource } = renewal;
  await recordSignIn(rows, publicUrl, { identity, act, client: family.client, identityProvider, operation, requestSource, time: timestamp(nowMs) });
  return { access, refresh: encodeToken(id, next, expireTimeMs) };
};
