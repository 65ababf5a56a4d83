// Refresh tokens: how a program stays signed in without asking its person again (authentication.md: 3.2).
//
// A token is base64 of a JSON object: `exp`, which clients read, the family's id, and 256 random bits. A family is
// all tokens of one sign-in, of which the latest alone works: each use replaces it in one statement. A token of the
// family that is not the latest was used before, by its owner or by a thief, and nobody can tell which; then the whole
// family ends and the person signs in anew (RFC 9700, 4.14.2). So it is with two uses at the same moment too: one
// wins, and the other, which comes after it by however little, ends what the first was given. A client that loses an
// answer therefore signs in again; it must not send a refresh token twice.

import { randomBytes } from "node:crypto";
import type { Authn, Issued } from "#authn";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { recordSignIn } from "#outbox";
import type { Row, Write } from "#store";
import { hashOf, newSecret } from "./secret.ts";

export interface NewFamily {
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
  readonly expireTimeMs: number;
}

/** What a refresh is asked for. */
export interface Renewal {
  readonly authorization: string | undefined;
  readonly audience: readonly string[];
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  /** The operation or path that it came by. */
  readonly operation: string;
  readonly requestSource: RequestSource;
}

/** Either both tokens, or why not: a refusal that has written something, and must not be undone by being thrown. */
export type Renewed = { readonly identity: string; readonly access: Issued; readonly refresh: RefreshToken } | { readonly refusal: Fault };

const write = (id: string, secret: string, expireTimeMs: number): RefreshToken => ({
  token: Buffer.from(JSON.stringify({ exp: Math.floor(expireTimeMs / 1000), id, secret })).toString("base64"),
  expireTimeMs,
});

/** Times that a token can say: whole seconds. */
const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/**
 * Begins a family and gives its first token. Undefined where the person or the provider is gone meanwhile: a row made
 * after their end would outlive them.
 */
export const beginFamily = async (rows: Write, family: NewFamily, nowMs: number): Promise<RefreshToken | undefined> => {
  const [id, secret] = [randomBytes(16).toString("hex"), newSecret()];
  const untilMs = seconds(nowMs + limits.refreshTokenLifetimeMs);
  const made = await rows.query(
    `with person as (select 1 from identities where uid = $3 for key share), provider as (select 1 from identity_providers where uid = $4 for key share)
     insert into refresh_tokens (id, secret_hash, identity_uid, identity_provider_uid, audience, act, email, capabilities, scopes, create_time, expire_time)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 from person, provider returning id`,
    [
      id,
      hashOf(secret),
      family.identity,
      family.identityProvider,
      JSON.stringify(family.audience),
      JSON.stringify(family.act),
      family.email ?? null,
      family.capabilities ? JSON.stringify(family.capabilities) : null,
      family.scopes ? JSON.stringify(family.scopes) : null,
      timestamp(nowMs),
      timestamp(untilMs),
    ],
  );
  return made.length > 0 ? write(id, secret, untilMs) : undefined;
};

const scheme = /^bearer +/i;

/** The family's id and the secret of a token's text. */
const read = (authorization: string | undefined): { readonly id: string; readonly secret: string } => {
  const start = scheme.exec(authorization ?? "")?.[0].length;
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

const listOf = (json: string | null | undefined): readonly string[] | undefined => {
  const value: unknown = JSON.parse(json ?? "null");
  return Array.isArray(value) ? value.map(String) : undefined;
};

const actOf = (json: string | null | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(JSON.parse(json ?? "{}") as Record<string, unknown>).map(([name, value]) => [name, String(value)]));

/** Replaces the latest token, if this is it. Never after the family's whole time, nor beyond it. */
const rotate = async (rows: Write, id: string, secret: string, next: string, nowMs: number): Promise<Row | undefined> => {
  const [row] = await rows.query(
    `update refresh_tokens set secret_hash = $3, expire_time = least($5::timestamptz, date_trunc('second', create_time + $6 * interval '1 millisecond'))
     where id = $1 and secret_hash = $2 and expire_time > $4::timestamptz
       and exists (select 1 from identities where uid = identity_uid)
     returning identity_uid, audience, act, email, capabilities, scopes, (extract(epoch from expire_time) * 1000)::bigint`,
    [id, hashOf(secret), hashOf(next), timestamp(nowMs), timestamp(seconds(nowMs + limits.refreshTokenLifetimeMs)), limits.refreshFamilyLifetimeMs],
  );
  return row;
};

/** New tokens for the latest refresh token of a family, in the caller's transaction; the end of the family for any other. */
export const renew = async (
  rows: Write,
  { authn, log, publicUrl }: { readonly authn: Pick<Authn, "issue" | "narrowing">; readonly log: Log; readonly publicUrl: string },
  renewal: Renewal,
  nowMs: number,
): Promise<Renewed> => {
  const { id, secret } = read(renewal.authorization);
  const wanted = { identity: "", audience: renewal.audience, capabilities: renewal.capabilities, scopes: renewal.scopes };
  // Before the token is used up.
  authn.narrowing(wanted);
  const next = newSecret();
  const row = await rotate(rows, id, secret, next, nowMs);
  if (!row) {
    const [ended] = await rows.query("delete from refresh_tokens where id = $1 returning identity_uid, expire_time > $2::timestamptz", [id, timestamp(nowMs)]);
    if (ended?.[1] === "t") log("signin.refresh.reused", { identity: ended[0] });
    return { refusal: unauthenticated("the refresh token has expired, was used before or was revoked: sign in again") };
  }
  const [identity, audience, act, email, capabilities, scopes, expireTimeMs] = row;
  const access = await authn.issue({
    uid: identity ?? "",
    act: actOf(act),
    email: email ?? undefined,
    held: { capabilities: listOf(capabilities), scopes: listOf(scopes) },
    wanted: { ...wanted, audience: wanted.audience.length > 0 ? wanted.audience : (listOf(audience) ?? []) },
    untilMs: nowMs + limits.accessTokenLifetimeMs,
  });
  await recordSignIn(rows, publicUrl, {
    identity: identity ?? "",
    act: actOf(act),
    operation: renewal.operation,
    requestSource: renewal.requestSource,
    time: timestamp(nowMs),
  });
  return { identity: identity ?? "", access, refresh: write(id, next, Number(expireTimeMs)) };
};
