// Client of identity providers: authorization code flow with PKCE (always S256), state and nonce, over the guarded outbound client.
// openid-client is loaded at the first sign-in. Module authn verifies signatures and caches issuers' keys.

import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { Upstream } from "#authn";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isRoot, isUid, rootOf } from "#base/uid.ts";
import { clientSecretBinding, clientSecretPurpose, type Provider } from "#iam/store";
import { isKnownByOid } from "./provisioning.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

export interface AuthorizationRequest {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636; its hash was sent with the request. */
  readonly verifier: string;
  /** When the sign-in started. If it has changed since, the code is not redeemed. */
  readonly issuer: string;
  readonly clientId: string;
}

/** The request with the provider's endpoints at that time. */
export interface SentRequest extends AuthorizationRequest {
  readonly endpoints: ProviderEndpoints;
}

interface ProviderEndpoints {
  readonly authorization: string;
  readonly token: string;
}

export interface UpstreamUser {
  readonly upstream: Upstream;
  readonly groups: readonly string[];
  /** The subject, or the claim of the provider's correlation rule. */
  readonly externalId: string;
  readonly idToken: string;
}

export interface Providers {
  /** Returns the URL to redirect the browser to, and the request to keep until the callback. */
  authorizationUrl(provider: Provider, request: AuthorizationRequest): Promise<{ readonly url: string; readonly sent: SentRequest }>;
  /** Verifies the callback `query` and returns its user. Throws a Fault. */
  readCallback(provider: Provider, request: SentRequest, query: URLSearchParams): Promise<UpstreamUser>;
}

type Client = typeof import("openid-client");

const loadClient = (): Promise<Client> => import("openid-client");

/** The retired callback URL that all providers shared. It redeems no code; the audit log names sign-ins after it. */
export const callbackPath = "/oauth/callback";

/** Needs no escapes: providers compare strings. */
const callbackPathOf = (uid: string): string => `${callbackPath}/${uid}`;

/** Returns the UID in a provider's callback path; undefined for any other path. */
export const providerOfCallback = (path: string): string | undefined => {
  const uid = path.startsWith(`${callbackPath}/`) ? path.slice(callbackPath.length + 1) : "";
  return isUid(uid) && !isRoot(uid) ? uid : undefined;
};

/** Message and code only; other properties may hold secrets. */
const describeError = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown";
  const code = "code" in thrown && typeof thrown.code === "string" ? ` (${thrown.code})` : "";
  return `${thrown.message}${code}${thrown.cause instanceof Error ? `: ${describeError(thrown.cause)}` : ""}`;
};

/** The guarded client's Fault is wrapped. */
const findFault = (thrown: unknown): Fault | undefined => (thrown instanceof Fault ? thrown : thrown instanceof Error ? findFault(thrown.cause) : undefined);

const oauthErrorOf = (thrown: unknown): string => (thrown instanceof Error && "error" in thrown && typeof thrown.error === "string" ? thrown.error : "");

/** Errors about this server's registration rather than the user. */
const registrationErrors = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"];

const answerStatusOf = (thrown: unknown): number => {
  if (!(thrown instanceof Error)) return 0;
  return thrown.cause instanceof Response ? thrown.cause.status : "status" in thrown ? Number(thrown.status) : 0;
};

const unreachableProvider = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the identity provider cannot be reached. Try again later", { cause });

const unusableProvider = (thrown: unknown): Fault => {
  const cause = new Error(describeError(thrown));
  if (findFault(thrown) || answerStatusOf(thrown) >= 500) return unreachableProvider(cause);
  return new Fault("FAILED_PRECONDITION", "the identity provider does not match its configuration: its discovery document cannot be used", { cause });
};

const providerFault = (client: Client, thrown: unknown): Fault => {
  const inner = findFault(thrown);
  if (inner) return inner;
  const cause = new Error(describeError(thrown));
  const error = oauthErrorOf(thrown);
  // RFC 6749 §4.1.2.1: the characters of an error code. It came from the URL, so nothing else is shown.
  if (thrown instanceof client.AuthorizationResponseError)
    return denied(`the identity provider did not sign you in: ${/^[\x20-\x7e]{1,64}$/.test(error) ? error : "no reason given"}`);
  if (registrationErrors.includes(error)) return new Fault("FAILED_PRECONDITION", `the identity provider rejected this server: ${error}`, { cause });
  if (answerStatusOf(thrown) >= 500) return unreachableProvider(cause);
  return unauthenticated("the response of the identity provider to this sign-in is invalid", cause);
};

const upstreamGroupsOf = (claims: JsonObject, name: string): string[] => {
  if (name === "" || !Object.hasOwn(claims, name)) return [];
  const value = claims[name];
  const entries = Array.isArray(value) ? value : [value];
  const names = entries
    .filter((entry) => typeof entry === "string")
    .filter((entry) => entry.length <= limits.upstreamGroupLengthMax && entry.isWellFormed() && !entry.includes("\0"));
  return [...new Set(names)].slice(0, limits.upstreamGroupsMax);
};

/** The subject, or `oid` if SCIM identifies users by it (contract: CorrelationRule). */
const externalIdOf = (claims: JsonObject, subject: string, provider: Provider): string => {
  if (!isKnownByOid(provider)) return subject;
  const value = Object.hasOwn(claims, "oid") ? claims.oid : undefined;
  if (typeof value === "string" && value !== "" && value.length <= limits.subjectLengthMax && value.isWellFormed() && !value.includes("\0")) return value;
  throw denied("Permission denied: the token of the identity provider lacks the claim oid");
};

const plainClaims = (claims: unknown): JsonObject => {
  const value = JSON.parse(JSON.stringify(claims ?? {})) as Json;
  return isObject(value) ? value : {};
};

const endpointsOf = ({ authorization_endpoint = "", token_endpoint = "" }: ServerMetadata): ProviderEndpoints => ({
  authorization: authorization_endpoint,
  token: token_endpoint,
});

const changedProvider = (): Fault => new Fault("FAILED_PRECONDITION", "the identity provider has changed since the sign-in started. Start again");

/** Returns the callback URL to register at the provider. */
export const callbackUrlOf = (settings: Pick<SignInSettings, "publicUrl">, uid: string): string => urlOfPath(settings, callbackPathOf(uid));

interface CachedMetadata {
  readonly metadata: Promise<ServerMetadata>;
  readonly untilMs: number;
}

export const openProviders = (settings: SignInSettings): Providers => {
  const { authn, vault, clock, log } = settings;
  // /oauth is open: requests must not make the server query an issuer each time, even one that is down (attack 18).
  const cache = new Map<string, CachedMetadata>();

  const guardedFetch =
    (organization: string): CustomFetch =>
    async (url, { method, headers, body }) => {
      const sent = body instanceof URLSearchParams ? body.toString() : typeof body === "string" ? body : undefined;
      const reply = await authn.outbound.fetch("issuer", url, {
        tenant: { organization },
        method: method === "POST" ? "POST" : "GET",
        headers: Object.fromEntries(new Headers(headers)),
        ...(sent === undefined ? {} : { body: sent }),
      });
      const bodiless = [204, 205, 304].includes(reply.status);
      return new Response(bodiless ? null : new Uint8Array(reply.body), { status: reply.status, headers: reply.headers });
    };

  const discover = async (issuer: string, organization: string): Promise<ServerMetadata> => {
    const client = await loadClient();
    // The guarded client decides which plain HTTP addresses are allowed.
    const found = await client.discovery(new URL(issuer), "discovery", {}, undefined, {
      [client.customFetch]: guardedFetch(organization),
      execute: [client.allowInsecureRequests],
    });
    const metadata = found.serverMetadata();
    // Attack 17: compared letter by letter.
    if (metadata.issuer !== issuer) throw new Error("the discovery document names another issuer");
    return metadata;
  };

  /** By organization, so that one's queue delays no sign-in of another at the same issuer. */
  const metadataOf = (issuer: string, organization: string): Promise<ServerMetadata> => {
    const key = `${organization} ${issuer}`;
    const cached = cache.get(key);
    if (cached && cached.untilMs > clock()) return cached.metadata;
    const metadata = discover(issuer, organization);
    const [oldest] = cache.keys();
    if (cache.size >= limits.issuerCacheEntries && oldest !== undefined) cache.delete(oldest);
    cache.delete(key);
    cache.set(key, { metadata, untilMs: clock() + limits.issuerKeysLifetimeMs });
    metadata.catch((cause: unknown) => {
      // A rate limit says nothing about the issuer.
      if (findFault(cause)?.code === "RESOURCE_EXHAUSTED") cache.delete(key);
      else cache.set(key, { metadata, untilMs: clock() + limits.issuerRetryMs });
      log("signin.provider.failed", { issuer, cause: describeError(cause) });
    });
    return metadata;
  };

  const configure = async (client: Client, { uid, oidc, clientSecretSealed }: Provider): Promise<Configuration> => {
    const metadata = await metadataOf(oidc.issuer, rootOf(uid)).catch((thrown: unknown) => {
      throw unusableProvider(thrown);
    });
    const secret = clientSecretSealed === undefined ? undefined : vault.open(clientSecretPurpose, clientSecretSealed, clientSecretBinding(uid, oidc));
    if (clientSecretSealed !== undefined && secret === undefined) throw new Error("a client secret cannot be opened with this server's secret key");
    const methods = metadata.token_endpoint_auth_methods_supported;
    const authentication =
      secret === undefined
        ? client.None()
        : !methods || methods.includes("client_secret_basic")
          ? client.ClientSecretBasic(secret)
          : client.ClientSecretPost(secret);
    const skew = Math.round((clock() - Date.now()) / 1000);
    const configuration = new client.Configuration(
      metadata,
      oidc.clientId,
      { [client.clockSkew]: skew, [client.clockTolerance]: limits.clockSkewMs / 1000 },
      authentication,
    );
    configuration[client.customFetch] = guardedFetch(rootOf(uid));
    client.allowInsecureRequests(configuration);
    return configuration;
  };

  /** The ID token may lack claims that the userinfo endpoint has. */
  const fetchMissingClaims = async (
    client: Client,
    configuration: Configuration,
    provider: Provider,
    token: string,
    claims: JsonObject,
  ): Promise<JsonObject> => {
    const { groupsClaim, additionalScopes } = provider.oidc;
    const lacksGroups = groupsClaim !== "" && !Object.hasOwn(claims, groupsClaim);
    const lacksEmail = additionalScopes.includes("email") && !Object.hasOwn(claims, "email");
    if (!(lacksGroups || lacksEmail) || !configuration.serverMetadata().userinfo_endpoint) return {};
    return plainClaims(await client.fetchUserInfo(configuration, token, String(claims.sub)));
  };

  return {
    authorizationUrl: async (provider, request) => {
      const { state, nonce, verifier } = request;
      const client = await loadClient();
      const configuration = await configure(client, provider);
      const { issuer, additionalScopes } = provider.oidc;
      const parameters = {
        redirect_uri: callbackUrlOf(settings, provider.uid),
        scope: [...new Set(["openid", ...additionalScopes])].join(" "),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      };
      try {
        const url = client.buildAuthorizationUrl(configuration, parameters);
        if (url.protocol !== "https:" && url.protocol !== new URL(issuer).protocol) throw new Error(`the authorization endpoint is ${url.protocol}`);
        return { url: url.href, sent: { ...request, endpoints: endpointsOf(configuration.serverMetadata()) } };
      } catch (thrown) {
        throw unusableProvider(thrown);
      }
    },
    readCallback: async (provider, { state, nonce, verifier, issuer, clientId, endpoints }, query) => {
      if (issuer !== provider.oidc.issuer || clientId !== provider.oidc.clientId) throw changedProvider();
      const client = await loadClient();
      const configuration = await configure(client, provider);
      const now = endpointsOf(configuration.serverMetadata());
      // Absent in sign-ins that started before endpoints were stored.
      if (endpoints?.authorization !== now.authorization || endpoints.token !== now.token) throw changedProvider();
      const callbackUrl = new URL(callbackUrlOf(settings, provider.uid));
      callbackUrl.search = query.toString();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const tokens = await client.authorizationCodeGrant(configuration, callbackUrl, checks);
        const claims = plainClaims(tokens.claims());
        const idToken = tokens.id_token ?? "";
        const more = await fetchMissingClaims(client, configuration, provider, tokens.access_token, claims);
        const upstream = await authn.verifyIdToken(idToken, more, rootOf(provider.uid));
        if (upstream.issuer !== issuer) throw new Error("the ID token is another issuer's");
        const groups = upstreamGroupsOf({ ...more, ...claims }, provider.oidc.groupsClaim);
        return { upstream, groups, externalId: externalIdOf(claims, upstream.subject, provider), idToken };
      } catch (thrown) {
        throw providerFault(client, thrown);
      }
    },
  };
};
