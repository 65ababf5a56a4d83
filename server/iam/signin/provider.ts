// The client of identity providers: authorization code flow with PKCE (always S256), state and nonce, through the guarded
// client. openid-client knows the protocol; signatures are verified by authn, which caches and renews the
// keys of issuers for every kind of token. It is loaded with the first sign-in: a server without one does not pay.

import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { Upstream } from "#authn";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isRoot, isUid, rootOf } from "#base/uid.ts";
import { clientSecretBinding, clientSecretPurpose, type Provider } from "#iam/store";
import { isKnownByOid } from "./provisioning.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

/** What binds a callback of the provider to the request that was sent. */
export interface AuthorizationRequest {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636; its hash went along with the request. */
  readonly verifier: string;
  /** The provider as it was when the sign-in started. A code for a provider that has changed since is not redeemed. */
  readonly issuer: string;
  readonly clientId: string;
}

/** The request and the endpoints that the provider had when it was made. */
export interface SentRequest extends AuthorizationRequest {
  readonly endpoints: ProviderEndpoints;
}

interface ProviderEndpoints {
  readonly authorization: string;
  readonly token: string;
}

/** Whom the provider vouches for. */
export interface UpstreamUser {
  readonly upstream: Upstream;
  /** Its groups, as the provider's groups claim has them. */
  readonly groups: readonly string[];
  /** What SCIM knows them by: the subject, or what the provider's correlation rule says. */
  readonly externalId: string;
  readonly idToken: string;
}

export interface Providers {
  /** Returns the address that the browser goes to with the request, and what to keep of the request until the callback. */
  authorizationUrl(provider: Provider, request: AuthorizationRequest): Promise<{ readonly url: string; readonly sent: SentRequest }>;
  /** Verifies the provider's callback, `query`, and returns its user. Throws a Fault. */
  readCallback(provider: Provider, request: SentRequest, query: URLSearchParams): Promise<UpstreamUser>;
}

type Client = typeof import("openid-client");

const loadClient = (): Promise<Client> => import("openid-client");

/** The address that all providers shared before each had its own. It redeems no code; the audit log calls sign-ins by it. */
export const callbackPath = "/oauth/callback";

/** The provider's own callback path: its uid, slashes as they are. Providers compare the address as a string, and none needs an escape. */
const callbackPathOf = (uid: string): string => `${callbackPath}/${uid}`;

/** The uid in a provider's callback path; undefined for any other path. */
export const providerOfCallback = (path: string): string | undefined => {
  const uid = path.startsWith(`${callbackPath}/`) ? path.slice(callbackPath.length + 1) : "";
  return isUid(uid) && !isRoot(uid) ? uid : undefined;
};

/** The message and code of an error and of what lies below it, but nothing that it carries: that may be a secret. */
const describeError = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown";
  const code = "code" in thrown && typeof thrown.code === "string" ? ` (${thrown.code})` : "";
  return `${thrown.message}${code}${thrown.cause instanceof Error ? `: ${describeError(thrown.cause)}` : ""}`;
};

/** The fault inside: what the guarded client throws comes wrapped. */
const findFault = (thrown: unknown): Fault | undefined => (thrown instanceof Fault ? thrown : thrown instanceof Error ? findFault(thrown.cause) : undefined);

const oauthErrorOf = (thrown: unknown): string => (thrown instanceof Error && "error" in thrown && typeof thrown.error === "string" ? thrown.error : "");

/** Errors of the token endpoint that are about this server's registration there and not about the person. */
const registrationErrors = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"];

/** The status of the provider's answer that an error is about; 0 where it is about none. */
const answerStatusOf = (thrown: unknown): number => {
  if (!(thrown instanceof Error)) return 0;
  return thrown.cause instanceof Response ? thrown.cause.status : "status" in thrown ? Number(thrown.status) : 0;
};

const unreachableProvider = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the identity provider cannot be reached. Try again later", { cause });

/** Why no request can be made for the provider. */
const unusableProvider = (thrown: unknown): Fault => {
  const cause = new Error(describeError(thrown));
  if (findFault(thrown) || answerStatusOf(thrown) >= 500) return unreachableProvider(cause);
  return new Fault("FAILED_PRECONDITION", "the identity provider does not match its configuration: its discovery document cannot be used", { cause });
};

/** What went wrong at the provider. */
const providerFault = (client: Client, thrown: unknown): Fault => {
  const inner = findFault(thrown);
  if (inner) return inner;
  const cause = new Error(describeError(thrown));
  const error = oauthErrorOf(thrown);
  // RFC 6749, 4.1.2.1: the characters of an error. It came with an address, so nothing else is shown.
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

/** The subject, or the claim `oid` where SCIM knows the provider's people by it (contract: CorrelationRule). */
const externalIdOf = (claims: JsonObject, subject: string, provider: Provider): string => {
  if (!isKnownByOid(provider)) return subject;
  const value = Object.hasOwn(claims, "oid") ? claims.oid : undefined;
  if (typeof value === "string" && value !== "" && value.length <= limits.subjectLengthMax && value.isWellFormed() && !value.includes("\0")) return value;
  throw denied("Permission denied: the token of the identity provider lacks the claim oid");
};

/** Claims as plain values. */
const plainClaims = (claims: unknown): JsonObject => {
  const value = JSON.parse(JSON.stringify(claims ?? {})) as Json;
  return isObject(value) ? value : {};
};

const endpointsOf = ({ authorization_endpoint = "", token_endpoint = "" }: ServerMetadata): ProviderEndpoints => ({
  authorization: authorization_endpoint,
  token: token_endpoint,
});

const changedProvider = (): Fault => new Fault("FAILED_PRECONDITION", "the identity provider has changed since the sign-in started. Start again");

/** The callback address that is registered at the provider. */
export const callbackUrlOf = (settings: Pick<SignInSettings, "publicUrl">, uid: string): string => urlOfPath(settings, callbackPathOf(uid));

interface CachedMetadata {
  readonly metadata: Promise<ServerMetadata>;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

export const openProviders = (settings: SignInSettings): Providers => {
  const { authn, vault, clock, log } = settings;
  // /oauth is open: whoever calls it must not make us ask an issuer each time, nor one that is down (attack 18).
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
    // Which plain addresses may be reached is the guarded client's to decide.
    const found = await client.discovery(new URL(issuer), "discovery", {}, undefined, {
      [client.customFetch]: guardedFetch(organization),
      execute: [client.allowInsecureRequests],
    });
    const metadata = found.serverMetadata();
    // Attack 17: in the same letters, or it is another issuer.
    if (metadata.issuer !== issuer) throw new Error("the discovery document names another issuer");
    return metadata;
  };

  /** For each organization by itself: a request in one organization's queue holds up no sign-in of another at the same issuer. */
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
      // That too much is asked for at once says nothing about the issuer.
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

  /** Claims that the provider has at its userinfo endpoint only: fetched where the ID token leaves out what we need. */
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
      // Absent in sign-ins that started before endpoints were kept.
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
