// Token of a delivery (events, 6): this server attests the body's digest to a subscription of the group.

import { SignJWT } from "jose/jwt/sign";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import type { Keys } from "#signing";
import { lruCache } from "./lru-cache.ts";

// Receivers check it, with signature, group and digest.
const deliveryAudience = "customer";

/** Returns a function that signs for the subscriptions of a group, once per event. */
export const openDeliveryTokens = (keys: Keys, clock: Clock, issuer: string): ((group: string, digest: string) => Promise<string>) => {
  const signed = lruCache<{ readonly token: Promise<string>; readonly freshUntilMs: number }>(limits.claimedMax);
  const sign = async (group: string, digest: string): Promise<string> => {
    const { kid, key } = await keys.signingKey();
    const nowSeconds = Math.floor(clock() / 1000);
    return new SignJWT({
      iss: issuer,
      sub: `webhook:${group}`,
      aud: deliveryAudience,
      iat: nowSeconds,
      exp: nowSeconds + limits.deliveryTokenLifetimeMs / 1000,
      webhook: { digest },
    })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", kid })
      .sign(key);
  };
  return (group, digest) => {
    const key = `${group} ${digest}`;
    const cached = signed.peek(key);
    if (cached !== undefined && cached.freshUntilMs > clock()) return cached.token;
    const token = sign(group, digest);
    // Leaves half of the lifetime for the delivery and for clock skew.
    signed.set(key, { token, freshUntilMs: clock() + limits.deliveryTokenLifetimeMs / 2 });
    token.catch(() => signed.delete(key));
    return token;
  };
};
