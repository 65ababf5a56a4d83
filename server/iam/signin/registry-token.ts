// Token protocol of registries (oci: 4). A token lasts a few minutes and permits the requested scopes within the caller's
// permissions. Each request is checked against live permissions too (docs/decisions/0069).
//
//   Basic _token:<access token>      its subject
//   Basic <identity uid>:<JWT>       the identity, by a token of its static keys or issuer (a CI job)
//   refresh_token=<refresh token>    its user; the response contains the next refresh token
//   no credential                    an anonymous caller

import type { Caller } from "#authn";
import { Fault, invalid, unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { findRegistryAccess } from "./registry-access.ts";
import { readRegistryScopes, type RequestedScopes } from "./registry-scopes.ts";
import { renew } from "./refresh.ts";
import type { SignInSettings } from "./settings.ts";

/** The operation in the audit log. */
const registryTokenPath = "/v2/token";

export interface RegistryTokenRequest {
  readonly verb: string;
  readonly parameters: URLSearchParams;
  readonly authorization: string | undefined;
  /** Identity to act as; undefined: the token's own subject. */
  readonly identity: string | undefined;
  readonly from: RequestSource;
}

const answerOf = (token: string, nowMs: number, expireTimeMs: number, more: JsonObject = {}): JsonObject => ({
  // Clients read either name.
  token,
  access_token: token,
  expires_in: Math.max(Math.floor((expireTimeMs - nowMs) / 1000), 1),
  issued_at: timestamp(nowMs),
  ...more,
});

const credentialsIn = ({ verb, parameters, authorization, identity }: RegistryTokenRequest) => {
  if (verb !== "POST" || parameters.get("grant_type") !== "password") return { authorization, identity };
  const user = parameters.get("username") ?? "";
  return { authorization: `Bearer ${parameters.get("password") ?? ""}`, identity: user === "_token" || user === "" ? undefined : user };
};

const grantTypes: ReadonlySet<string> = new Set(["password", "refresh_token"]);

export const openRegistryTokens = (settings: SignInSettings): ((request: RegistryTokenRequest) => Promise<JsonObject>) => {
  const { authn, clock, kernel, store, publicUrl } = settings;
  const service = new URL(publicUrl).host;

  const checkService = (parameters: URLSearchParams): void => {
    if (parameters.getAll("service").some((name) => name !== "" && name !== service))
      throw invalid([{ field: "service", description: `the service must be ${JSON.stringify(service)}, as in the challenge` }]);
  };

  /** Expires, is limited and is revoked with the presented credential. A registry token is no credential here, so it cannot renew itself. */
  const tokenOf = async (caller: Caller, requested: RequestedScopes, nowMs: number): Promise<JsonObject> => {
    const registry = await findRegistryAccess(kernel, caller, requested);
    const lifetimeMs = Math.min(limits.registryTokenLifetimeMs, caller.expireTimeMs - nowMs);
    const { uid, act, capabilities, scopes, email, session, grant } = caller;
    const token = await authn.mint({ uid, audience: [], registry, act, capabilities, scopes, email, session, grant, lifetimeMs });
    return answerOf(token, nowMs, nowMs + lifetimeMs);
  };

  const refreshed = async ({ parameters, from }: RegistryTokenRequest, requested: RequestedScopes, nowMs: number): Promise<JsonObject> => {
    const [token = "", another] = parameters.getAll("refresh_token");
    if (token === "" || another !== undefined) throw unauthenticated("refresh_token must be given once");
    const renewal = {
      authorization: `Bearer ${token}`,
      audience: [service],
      capabilities: [],
      scopes: [],
      operation: registryTokenPath,
      requestSource: from,
    };
    const renewed = await store.write((rows) => renew(rows, settings, renewal, nowMs));
    if ("refusal" in renewed) throw renewed.refusal;
    const caller = await authn.authenticate(`Bearer ${renewed.access.token}`, undefined);
    return { ...(await tokenOf(caller, requested, nowMs)), refresh_token: renewed.refresh.token };
  };

  return async (request) => {
    const { from, verb, parameters } = request;
    authn.clientLimits.take("exchanges", from.origin.address);
    const nowMs = clock();
    const grantType = parameters.get("grant_type") ?? "";
    // containerd then retries with GET.
    if (verb === "POST" && !grantTypes.has(grantType)) throw new Fault("NOT_FOUND", "grant_type must be password or refresh_token");
    checkService(parameters);
    const requested = readRegistryScopes(parameters.getAll("scope"));
    if (verb === "POST" && grantType === "refresh_token") return refreshed(request, requested, nowMs);
    const { authorization, identity } = credentialsIn(request);
    if (authorization === undefined) {
      const { token, expireTimeMs } = await authn.anonymousToken();
      return answerOf(token, nowMs, expireTimeMs);
    }
    return tokenOf(await authn.authenticate(authorization, identity, () => from.origin.address), requested, nowMs);
  };
};
