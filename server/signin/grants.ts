// What the token endpoint gives to whoever has signed in, by grant type (RFC 6749, 4.5).

import { Fault, invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { deviceGrant, deviceGrantType } from "./device.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { renew } from "./refresh.ts";

/** The token endpoint: what the audit log calls what came by it. */
export const tokenPath = "/oauth/token";

export type Grant = (form: URLSearchParams, requestSource: RequestSource) => Promise<JsonObject>;

/** RFC 6749, 6: the refresh token works once, and the answer brings the next. */
const refreshGrant = async (parts: SignInDependencies, form: URLSearchParams, requestSource: RequestSource): Promise<JsonObject> => {
  const [token = "", another] = form.getAll("refresh_token");
  if (token === "" || another !== undefined) throw invalid([{ field: "refresh_token", description: "must be given once" }]);
  const list = (name: string): string[] =>
    form
      .getAll(name)
      .flatMap((entry) => entry.split(" "))
      .filter((entry) => entry !== "");
  const renewal = {
    authorization: `Bearer ${token}`,
    audience: [...form.getAll("audience"), ...form.getAll("resource")].filter((entry) => entry !== ""),
    capabilities: list("cap"),
    scopes: list("scope"),
    operation: tokenPath,
    requestSource,
  };
  const nowMs = parts.clock();
  const renewed = await parts.store.write((rows) => renew(rows, parts, renewal, nowMs));
  if ("refusal" in renewed) throw new Fault("INVALID_ARGUMENT", renewed.refusal.message, { details: [{ kind: "reason", reason: "invalid_grant" }] });
  return {
    access_token: renewed.access.token,
    token_type: "Bearer",
    expires_in: Math.max(Math.floor((renewed.access.expireTimeMs - nowMs) / 1000), 0),
    refresh_token: renewed.refresh.token,
  };
};

export const grantsOf = (parts: SignInDependencies): ReadonlyMap<string, Grant> =>
  new Map<string, Grant>([
    [deviceGrantType, (form) => deviceGrant(parts, form)],
    ["refresh_token", (form, requestSource) => refreshGrant(parts, form, requestSource)],
  ]);
