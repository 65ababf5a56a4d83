// Token without a subject (oci: 4), for registry clients that request a token before anything else. It is equivalent to no token.

import { compactVerify } from "jose/jws/compact/verify";
import { SignJWT } from "jose/jwt/sign";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Keys } from "#signing";
import { lruCache } from "./lru-cache.ts";
import { registryAudience } from "./registry-token.ts";
import { ownAlgorithms, registryTokenType } from "./token.ts";

export interface AnonymousTokens {
  /** Returns true without a token, and for a valid anonymous token. Never throws. */
  isAnonymous(authorization: string | undefined): boolean | Promise<boolean>;
  /** Issues an anonymous token; its expiry is in milliseconds since 1970. */
  mint(): Promise<{ readonly token: string; readonly expireTimeMs: number }>;
}

const bearerForm = /^bearer +([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/i;

const readPart = (text: string): Json | undefined => {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as Json;
  } catch {
    return undefined;
  }
};

export const openAnonymousTokens = (keys: Keys, clock: Clock, issuer: string): AnonymousTokens => {
  const known = lruCache<number>(limits.tokenCacheEntries);

  const verify = async (authorization: string): Promise<boolean> => {
    const [, head = "", body = ""] = bearerForm.exec(authorization) ?? [];
    const claims = readPart(body);
    if (!isObject(claims) || claims.sub !== "" || claims.iss !== issuer || typeof claims.exp !== "number" || claims.exp * 1000 <= clock()) return false;
    const header = readPart(head);
    if (!isObject(header) || header.typ !== registryTokenType) return false;
    try {
      const key = await keys.verifyingKey(typeof header.kid === "string" ? header.kid : undefined);
      await compactVerify(authorization.replace(/^bearer +/i, ""), key, { algorithms: [...ownAlgorithms] });
    } catch {
      return false;
    }
    known.set(authorization, claims.exp * 1000);
    return true;
  };

  return {
    isAnonymous: (authorization) => {
      if (authorization === undefined || authorization === "") return true;
      // Fast path: most headers carry tokens with a subject.
      if (authorization.length > limits.tokenBytesMax) return false;
      const endMs = known.peek(authorization);
      return endMs === undefined ? verify(authorization) : endMs > clock();
    },
    mint: async () => {
      const issued = Math.floor(clock() / 1000);
      const expires = issued + limits.registryTokenLifetimeMs / 1000;
      const { kid, key } = await keys.signingKey();
      const claims = { iss: issuer, sub: "", aud: registryAudience(issuer), iat: issued, exp: expires };
      return { token: await new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: registryTokenType, kid }).sign(key), expireTimeMs: expires * 1000 };
    },
  };
};
