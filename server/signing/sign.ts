// Signs this server's tokens.

import { SignJWT } from "jose/jwt/sign";
import { invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Keys } from "./keys.ts";

interface SignRequest {
  readonly uid: string;
  readonly audience: readonly string[];
  /** Default and maximum: limits.accessTokenLifetimeMs. */
  readonly lifetimeMs?: number | undefined;
  /** Further claims. */
  readonly claims?: JsonObject;
  readonly type?: string;
}

/** Signs a token; returns it with its expiry in milliseconds since 1970. */
export const signToken = async (
  keys: Pick<Keys, "signingKey">,
  clock: Clock,
  issuer: string,
  { uid, audience, lifetimeMs = limits.accessTokenLifetimeMs, claims = {}, type = "JWT" }: SignRequest,
): Promise<{ readonly token: string; readonly expireTimeMs: number }> => {
  const issued = Math.floor(clock() / 1000);
  const expires = Math.floor((clock() + Math.min(lifetimeMs, limits.accessTokenLifetimeMs)) / 1000);
  const [only, ...more] = audience;
  const all: JsonObject = {
    iss: issuer,
    sub: uid,
    aud: only !== undefined && more.length === 0 ? only : only === undefined ? [] : [only, ...more],
    iat: issued,
    exp: expires,
    ...claims,
  };
  const { kid, key } = await keys.signingKey();
  const token = await new SignJWT(all).setProtectedHeader({ alg: "RS256", typ: type, kid }).sign(key);
  // This server would refuse to read such a token; long lists are the cause.
  if (token.length > limits.tokenBytesMax) throw invalid([{ field: "scopes", description: "too many scopes, capabilities or audiences in one token" }]);
  return { token, expireTimeMs: expires * 1000 };
};
