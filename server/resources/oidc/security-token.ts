// The security token service: another issuer's token for one of ours. The work is authn's; this is its face in the
// contract, for gRPC and for /sts/exchange.

import { RawTokenSchema, SecurityTokenService } from "#contract/gen/chainguard/platform/oidc/oidc_pb.js";
import { type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { recordSignIn } from "#outbox";
import { renew } from "#signin";

/** What the new token shall be good for. */
const wishOf = (request: JsonObject): { audience: string[]; capabilities: string[]; scopes: string[] } => {
  const scope = text(request, "scope");
  return {
    // The public SDK sends several audiences as one text with commas.
    audience: texts(request, "aud").flatMap((audience) => audience.split(",")).filter((audience) => audience !== ""),
    capabilities: texts(request, "cap"),
    scopes: [...texts(request, "scopes"), ...(scope ? [scope] : [])],
  };
};

const exchange = async ({ house, request, call, method, nowMs }: ReadContext): Promise<Outcome> => {
  const { token, expireTimeMs, uid, act, session } = await house.authn.exchange({
    authorization: call.authorization,
    ...wishOf(request),
    identity: text(request, "identity"),
    identityProvider: text(request, "identityProvider"),
  });
  const entrance = { origin: call.origin(), requestId: call.requestId };
  // Before the token is anybody's: none without its line in the audit log.
  await house.store.write((rows) => recordSignIn(rows, house.publicUrl, { identity: uid, caller: uid, act, session, operation: method.name, entrance, time: timestamp(nowMs) }));
  return { reply: { token, expiry: timestamp(expireTimeMs) } };
};

/** authentication.md: 3.2. The refresh token is the header's. */
const refresh = async ({ house, request, call, rows, method, nowMs }: WriteContext): Promise<Outcome> => {
  const renewed = await renew(rows, house, { authorization: call.authorization, ...wishOf(request), operation: method.name, entrance: { origin: call.origin(), requestId: call.requestId } }, nowMs);
  if ("refusal" in renewed) return { reply: {}, unchanged: true, refusal: renewed.refusal };
  const { identity, access, refresh: next } = renewed;
  return {
    reply: {
      token: { token: access.token, expiry: timestamp(access.expireTimeMs) },
      refreshToken: { token: next.token, expiry: timestamp(next.expireTimeMs) },
      identity,
    },
  };
};

export const securityToken = resource({
  service: SecurityTokenService,
  message: RawTokenSchema,
  methods: { Exchange: { reads: exchange }, ExchangeRefreshToken: { writes: refresh } },
});
