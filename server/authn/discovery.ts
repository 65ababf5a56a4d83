// /.well-known/openid-configuration (OpenID Connect Discovery 1.0 §3; RFC 8414).

import type { JsonObject } from "#base/json.ts";
import { withoutTrailingSlash } from "./audiences.ts";
import { tokenExchangeGrantType } from "./exchange-form.ts";

/** Returns the issuer's document. Clients require `issuer` to match exactly. */
export const discoveryDocument = (issuer: string): JsonObject => {
  const base = withoutTrailingSlash(issuer);
  return {
    issuer,
    jwks_uri: `${base}/.well-known/jwks.json`,
    token_endpoint: `${base}/oauth/token`,
    grant_types_supported: [tokenExchangeGrantType],
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["none"],
    claims_supported: ["iss", "sub", "aud", "exp", "iat", "email", "email_verified", "act"],
  };
};
