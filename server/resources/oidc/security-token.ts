// The security token service: another issuer's token for one of ours. The work is authn's; this is its face in the
// contract, for gRPC and for /sts/exchange.

import { RawTokenSchema, SecurityTokenService } from "#contract/gen/chainguard/platform/oidc/oidc_pb.js";
import { text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";

const exchange = async ({ house, request, call }: ReadContext): Promise<Outcome> => {
  const scope = text(request, "scope");
  const { token, expireTimeMs } = await house.authn.exchange({
    authorization: call.authorization,
    // The public SDK sends several audiences as one text with commas.
    audience: texts(request, "aud").flatMap((audience) => audience.split(",")).filter((audience) => audience !== ""),
    identity: text(request, "identity"),
    capabilities: texts(request, "cap"),
    scopes: [...texts(request, "scopes"), ...(scope ? [scope] : [])],
    identityProvider: text(request, "identityProvider"),
  });
  return { reply: { token, expiry: timestamp(expireTimeMs) } };
};

export const securityToken = resource({
  service: SecurityTokenService,
  message: RawTokenSchema,
  methods: { Exchange: { reads: exchange } },
});
