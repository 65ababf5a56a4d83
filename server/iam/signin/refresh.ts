// Refresh tokens, which keep a program signed in (authentication.md: 3.2).
//
// A token is base64 of a JSON object: `exp` for clients, the family's ID, and 256 random bits. Only the latest token of a family is
// valid: each use replaces it in one statement. Reuse may be theft, so it ends the whole family (RFC 9700 §4.14.2). That includes
// concurrent uses, so a client must not retry.

import type { Authn, Issued } from "#authn";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import { deleteRefreshToken, findRenewedFamily, insertRefreshToken, isDismissedBy, type RefreshTokenFamily, replaceRefreshTokenSecret } from "#iam/store";
import type { Write } from "#db";
import { oauthFault } from "./oauth-parameters.ts";
import { audienceOfResource } from "./resources.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import { consoleClientOf } from "./settings.ts";
import { endNamedSession, newSessionId, sessionOfFamily, useSession } from "./session.ts";

export interface CodeGrant {
  /** 32 hexadecimal digits; also the family's ID. */
  readonly id: string;
  readonly client: string;
}

export interface NewFamily {
  /** From newFamilyId; generated if absent. */
  readonly id?: string;
  /** Absent without an authorization code. */
  readonly grant?: CodeGrant | undefined;
  readonly identity: string;
  readonly identityProvider: string;
  readonly act: Readonly<Record<string, string>>;
  readonly email: string | undefined;
  /** Default for access tokens of the family. */
  readonly audience: readonly string[];
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

export interface RefreshToken {
  readonly token: string;
  readonly expireTimeMs: number;
}

export interface Renewal {
  readonly authorization: string | undefined;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  /** The client's own claim; undefined if absent. */
  readonly client?: string | undefined;
  readonly operation: string;
  readonly requestSource: RequestSource;
  /** Derives the next secret from this one and the time. Then a renewal repeated within limits.renewalRepeatMs has the same result. */
  readonly nextSecret?: (secret: string, atMs: number) => string;
}

/** Both tokens, or a refusal with writes that throwing would roll back. */
export type Renewed = { readonly access: Issued; readonly refresh: RefreshToken } | { readonly refusal: Fault };

const encodeToken = (id: string, secret: string, expireTimeMs: number): RefreshToken => ({
  token: Buffer.from(JSON.stringify({ exp: Math.floor(expireTimeMs / 1000), id, secret })).toString("base64"),
  expireTimeMs,
});

/** Returns the ID of a new family: the grant's, or one that only the refresh token reveals. */
export const newFamilyId = (grant: CodeGrant | undefined): string => grant?.id ?? newSessionId();

const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/** Begins a family. Returns undefined if the identity or provider has been deleted, because the row would outlive it. */
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

/** Decodes a token into the family's ID and the secret. Throws UNAUTHENTICATED. */
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
  // Restricted because a NUL in the ID would fail the statement as an internal error.
  if (typeof id !== "string" || typeof secret !== "string" || !/^[0-9a-f]{32}$/.test(id)) throw malformed;
  return { id, secret };
};

/** The console keeps its access token in a page's memory. */
export const accessLifetimeOf = (settings: { readonly publicUrl: string }, client: string | undefined): number =>
  client === consoleClientOf(settings) ? limits.consoleTokenLifetimeMs : limits.accessTokenLifetimeMs;

/** Returns the family if this token was its latest until moments ago: a lost response or a second tab, not theft. */
const findRepeated = async (
  rows: Write,
  id: string,
  secret: string,
  { nextSecret, client }: Renewal,
  nowMs: number,
): Promise<{ readonly family: RefreshTokenFamily; readonly secret: string } | undefined> => {
  if (!nextSecret) return undefined;
  const times = Array.from({ length: limits.renewalRepeatMs / 1000 + 1 }, (_, second) => nowMs - second * 1000);
  const secrets = new Map(times.map((atMs) => nextSecret(secret, atMs)).map((each) => [secretHashOf(each), each]));
  const found = await findRenewedFamily(rows, { id, secretHashes: [...secrets.keys()], client, nowMs });
  const current = found && secrets.get(found.secretHash);
  return found && current !== undefined ? { family: found, secret: current } : undefined;
};

/** Exchanges a family's latest refresh token in the caller's transaction; ends the family for any other token. */
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
  // Validated before the token is used up.
  authn.readDownscoping(requested);
  const next = renewal.nextSecret?.(secret, nowMs) ?? newSecret();
  const replaced = await replaceRefreshTokenSecret(rows, {
    id,
    secretHash: secretHashOf(secret),
    nextSecretHash: secretHashOf(next),
    client: renewal.client,
    nowMs,
    expireTimeMs: wholeSeconds(nowMs + limits.refreshTokenLifetimeMs),
  });
  const repeated = replaced === undefined ? await findRepeated(rows, id, secret, renewal, nowMs) : undefined;
  const family = replaced ?? repeated?.family;
  // A deactivation by SCIM ends families; one that began concurrently ends here (attack 222).
  const isDismissed = family !== undefined && (await isDismissedBy(rows, family.identityProviderUid, family.identityUid));
  if (!family || isDismissed) {
    if (!isDismissed) authn.clientLimits.addFailure("refused-refresh-tokens", address);
    const ended = await deleteRefreshToken(rows, id, nowMs);
    if (ended) await endNamedSession(rows, sessionOfFamily(id, ended.client), ended.identityUid, nowMs);
    if (ended?.isLive && !isDismissed) log("signin.refresh.reused", { identity: ended.identityUid });
    return { refusal: unauthenticated("the refresh token has expired, was used before or was revoked: sign in again") };
  }
  // RFC 8707 §2.2: only resources that the user has agreed to. Throwing leaves the token valid.
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
    untilMs: nowMs + accessLifetimeOf({ publicUrl }, family.client),
  });
  if (repeated) return { access, refresh: encodeToken(id, repeated.secret, expireTimeMs) };
  await useSession(rows, id, family, { address, accessExpireTimeMs: access.expireTimeMs }, nowMs);
  const { operation, requestSource } = renewal;
  await recordSignIn(rows, publicUrl, { identity, act, client: family.client, identityProvider, operation, requestSource, time: timestamp(nowMs) });
  return { access, refresh: encodeToken(id, next, expireTimeMs) };
};
