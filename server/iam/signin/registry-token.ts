// The token protocol of registries (oci: 4): a client presents a credential and gets a registry token of a few minutes. It permits the
// requested scopes, within what the caller may do; each request is checked against live permissions too (docs/decisions/0069).
//
//   Basic _token:<access token>      its subject
//   Basic <identity uid>:<JWT>       that identity, by a token of its own keys or of its issuer (a CI job)
//   refresh_token=<refresh token>    its user; the response contains the next refresh token
//   nothing                          an anonymous caller

import type { Caller } from "#authn";
import { Fault, invalid, unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { findRegistryAccess } from "./registry-access.ts";
import { readRegistryScopes, type RegistryScope } from "./registry-scopes.ts";
import { renew } from "./refresh.ts";
import type { SignInSettings } from "./settings.ts";

/** The endpoint's own path: also the operation in the audit log. */
const registryTokenPath = "/v2/token";

export interface RegistryTokenRequest {
  readonly verb: string;
  readonly parameters: URLSearchParams;
  /** A bearer token; undefined where it came without any. */
  readonly authorization: string | undefined;
  /** The identity that the token shall act as; undefined: its own subject. */
  readonly identity: string | undefined;
  readonly from: RequestSource;
}

const answerOf = (token: string, nowMs: number, expireTimeMs: number, more: JsonObject = {}): JsonObject => ({
  // Some clients read one name, some the other.
  token,
  access_token: token,
  expires_in: Math.max(Math.floor((expireTimeMs - nowMs) / 1000), 1),
  issued_at: timestamp(nowMs),
  ...more,
});

/** The credentials of a request: those of its header, or of the form that POST has. */
const credentialsIn = ({ verb, parameters, authorization, identity }: RegistryTokenRequest) => {
  if (verb !== "POST" || parameters.get("grant_type") !== "password") return { authorization, identity };
  const user = parameters.get("username") ?? "";
  return { authorization: `Bearer ${parameters.get("password") ?? ""}`, identity: user === "_token" || user === "" ? undefined : user };
};

const grantTypes: ReadonlySet<string> = new Set(["password", "refresh_token"]);

export const openRegistryTokens = (settings: SignInSettings): ((request: RegistryTokenRequest) => Promise<JsonObject>) => {
  const { authn, clock, kernel, store, publicUrl } = settings;
  const service = new URL(publicUrl).host;

  /** Throws INVALID_ARGUMENT if the client requests a token for another service. */
  const checkService = (parameters: URLSearchParams): void => {
    if (parameters.getAll("service").some((name) => name !== "" && name !== service))
      throw invalid([{ field: "service", description: `the service must be ${JSON.stringify(service)}, as in the challenge` }]);
  };

  /**
   * Issues a registry token. It lasts no longer than the credential that was presented, and is narrowed and revoked with it. A
   * registry token is no such credential, so it cannot renew itself.
   */
  const tokenOf = async (caller: Caller, requested: readonly RegistryScope[], nowMs: number): Promise<JsonObject> => {
    const registry = await findRegistryAccess(kernel, caller, requested);
    const lifetimeMs = Math.min(limits.registryTokenLifetimeMs, caller.expireTimeMs - nowMs);
    const { uid, act, capabilities, scopes, email, session, grant } = caller;
    const token = await authn.mint({ uid, audience: [], registry, act, capabilities, scopes, email, session, grant, lifetimeMs });
    return answerOf(token, nowMs, nowMs + lifetimeMs);
  };

  const refreshed = async ({ parameters, from }: RegistryTokenRequest, requested: readonly RegistryScope[], nowMs: number): Promise<JsonObject> => {
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
    // containerd then asks with GET.
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
