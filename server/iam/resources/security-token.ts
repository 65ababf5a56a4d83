// The security token service, for gRPC and /sts/exchange: exchanges another issuer's token for one of this server. authn implements
// it.

import { type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { requestSourceOf, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { recordExchange, renew, requireMemberThrough } from "#iam/signin";

const requestedTokenOf = (request: JsonObject): { audience: string[]; capabilities: string[]; scopes: string[] } => {
  const scope = text(request, "scope");
  return {
    // The public SDK joins audiences with commas.
    audience: texts(request, "aud")
      .flatMap((audience) => audience.split(","))
      .filter((audience) => audience !== ""),
    capabilities: texts(request, "cap"),
    scopes: [...texts(request, "scopes"), ...(scope ? [scope] : [])],
  };
};

const exchange = async ({ services, request, call, method }: ReadContext): Promise<Outcome> => {
  const identityProvider = text(request, "identityProvider");
  const exchanged = await services.authn.exchange({
    authorization: call.authorization,
    ...requestedTokenOf(request),
    identity: text(request, "identity"),
    ...(identityProvider === ""
      ? {}
      : { through: { uid: identityProvider, admit: (personUid) => services.store.write((rows) => requireMemberThrough(rows, identityProvider, personUid)) } }),
  });
  await recordExchange(services, exchanged, method.name, requestSourceOf(call));
  return { reply: { token: exchanged.token, expiry: timestamp(exchanged.expireTimeMs) } };
};

/** authentication.md: 3.2. The Authorization header has the refresh token. */
const refresh = async ({ services, request, call, rows, method, nowMs }: WriteContext): Promise<Outcome> => {
  const renewed = await renew(
    rows,
    services,
    { authorization: call.authorization, ...requestedTokenOf(request), operation: method.name, requestSource: requestSourceOf(call) },
    nowMs,
  );
  if ("refusal" in renewed) return { reply: {}, unchanged: true, refusal: renewed.refusal };
  const { access, refresh: next } = renewed;
  return {
    reply: {
      token: { token: access.token, expiry: timestamp(access.expireTimeMs) },
      refreshToken: { token: next.token, expiry: timestamp(next.expireTimeMs) },
    },
  };
};

export const securityToken = resource({
  service: "chainguard.platform.oidc.SecurityTokenService",
  message: "chainguard.platform.oidc.RawToken",
  methods: { Exchange: { reads: exchange, countsAs: "exchanges" }, ExchangeRefreshToken: { writes: refresh, countsAs: "exchanges" } },
});
