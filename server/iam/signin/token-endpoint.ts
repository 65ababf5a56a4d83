// Token endpoint: dispatches on the grant type (RFC 6749 §4.5). Module authn implements token exchange (RFC 8693); the other grants
// belong to sign-in.

import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, texts } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { isRefusal } from "#outbox";
import { deviceGrant, deviceGrantType } from "./device.ts";
import { codeGrant, codeGrantType } from "./authorization-code.ts";
import { oauthFault, readScope, singleParameter } from "./oauth-parameters.ts";
import { recordExchange } from "./record-exchange.ts";
import { renew } from "./refresh.ts";
import { revokeReplaced } from "./revocation-endpoint.ts";
import { consoleClientOf, type SignInSettings } from "./settings.ts";

const tokenPath = "/oauth/token";

/** Handles the form of a grant. `authorization` is the request's header. Throws a Fault. */
export type Grant = (form: URLSearchParams, authorization: string | undefined, requestSource: RequestSource) => Promise<JsonObject>;

const exchangeGrant =
  (settings: SignInSettings): Grant =>
  async (form, authorization, requestSource) => {
    const { answer, exchanged } = await settings.authn.exchangeForm(form, authorization);
    await recordExchange(settings, exchanged, tokenPath, requestSource);
    return answer;
  };

/** RFC 6749 §6: each token works once. */
const refreshGrant =
  (settings: SignInSettings): Grant =>
  async (form, _authorization, requestSource) => {
    const token = singleParameter(form, "refresh_token");
    if (token === "") throw invalid([{ field: "refresh_token", description: "must be given once" }]);
    const list = (name: string): string[] =>
      form
        .getAll(name)
        .flatMap((entry) => entry.split(" "))
        .filter((entry) => entry !== "");
    const client = singleParameter(form, "client_id");
    // A standard client limits the token by `scope`.
    const scope = client === "" ? undefined : readScope(settings.authn, singleParameter(form, "scope"));
    const renewal = {
      authorization: `Bearer ${token}`,
      audience: [...form.getAll("audience"), ...form.getAll("resource")].filter((entry) => entry !== ""),
      capabilities: [...list("cap"), ...(scope?.capabilities ?? [])],
      scopes: scope?.scopes ?? list("scope"),
      ...(client === "" ? {} : { client }),
      operation: tokenPath,
      requestSource,
    };
    const nowMs = settings.clock();
    const renewed = await settings.store.write((rows) => renew(rows, settings, renewal, nowMs));
    if ("refusal" in renewed) throw new Fault("INVALID_ARGUMENT", renewed.refusal.message, { details: [{ kind: "reason", reason: "invalid_grant" }] });
    return {
      access_token: renewed.access.token,
      token_type: "Bearer",
      expires_in: Math.max(Math.floor((renewed.access.expireTimeMs - nowMs) / 1000), 0),
      refresh_token: renewed.refresh.token,
    };
  };

export interface TokenEndpoint {
  readonly grantTypes: readonly string[];
  readonly answer: Grant;
}

/** A polling terminal gets slow_down (RFC 8628 §3.5). */
const takeExchange = ({ authn: { clientLimits } }: SignInSettings, isTerminal: boolean, { origin: { address } }: RequestSource): void => {
  try {
    clientLimits.take("exchanges", address);
  } catch (thrown) {
    if (!isTerminal || !(thrown instanceof Fault)) throw thrown;
    throw new Fault(thrown.code, thrown.message, { details: [{ kind: "reason", reason: "slow_down" }, ...thrown.details], headers: thrown.headers });
  }
};

export const openTokenEndpoint = (settings: SignInSettings): TokenEndpoint => {
  const exchange = exchangeGrant(settings);
  const grants = new Map<string, Grant>([
    ...texts(settings.authn.discovery(), "grant_types_supported").map((type): [string, Grant] => [type, exchange]),
    [deviceGrantType, (form) => deviceGrant(settings, form)],
    [codeGrantType, (form) => codeGrant(settings, form)],
    ["refresh_token", refreshGrant(settings)],
  ]);
  const grantTypes = [...grants.keys()];
  return {
    grantTypes,
    answer: async (form, authorization, requestSource) => {
      takeExchange(settings, form.get("grant_type") === deviceGrantType, requestSource);
      const type = form.get("grant_type") ?? "";
      // The exchange reports a missing grant type, with all other violations.
      const grant = type === "" ? exchange : grants.get(type);
      if (!grant) {
        throw new Fault("INVALID_ARGUMENT", `grant_type must be one of ${grantTypes.join(", ")}`, {
          details: [{ kind: "reason", reason: "unsupported_grant_type" }],
        });
      }
      // Otherwise a script could get the refresh token that the cookie hides.
      if (form.getAll("client_id").includes(consoleClientOf(settings)))
        throw oauthFault("unauthorized_client", "this client gets its tokens at /console/session only");
      try {
        const replaced = type === deviceGrantType || type === codeGrantType ? singleParameter(form, "replaced_refresh_token") : "";
        const answer = await grant(form, authorization, requestSource);
        await revokeReplaced(settings, replaced, form.get("client_id") ?? "", requestSource);
        return answer;
      } catch (thrown) {
        if (thrown instanceof Fault && isRefusal(thrown))
          settings.audit.recordRefusal({ caller: undefined, operation: tokenPath, subject: "", code: thrown.code, requestSource });
        throw thrown;
      }
    },
  };
};
