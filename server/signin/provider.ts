// The client of identity providers: authorization code flow with PKCE (always S256), state and nonce, through the guarded
// client. openid-client knows the protocol; signatures are verified by authn, which caches and renews the
// keys of issuers for every kind of token. It is loaded with the first sign-in: a server without one does not pay.

import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { Upstream } from "#authn";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { clientSecretBinding, clientSecretPurpose, type Provider } from "#store";
import { isKnownByOid } from "./provisioning.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

/** What binds a callback of the provider to the request that was sent. */
export interface AuthorizationRequest {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636; its hash went along with the request. */
  readonly verifier: string;
  /** Who was asked: a provider that has been pointed at another issuer meanwhile must not be given the answer. */
  readonly issuer: string;
  readonly clientId: string;
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
  /** Where the browser goes with the request. */
  authorizationUrl(provider: Provider, request: AuthorizationRequest): Promise<string>;
  /** Verifies the provider's callback, `query`, and gives its user. Throws a Fault. */
  readCallback(provider: Provider, request: AuthorizationRequest, query: URLSearchParams): Promise<UpstreamUser>;
}

type Client = typeof import("openid-client");

const loadClient = (): Promise<Client> => import("openid-client");

export const callbackPath = "/oauth/callback";

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

const unreachableProvider = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the identity provider cannot be reached at the moment; try again", { cause });

/** Why no request can be made for the provider. */
const unusableProvider = (thrown: unknown): Fault => {
  const cause = new Error(describeError(thrown));
  if (findFault(thrown) || answerStatusOf(thrown) >= 500) return unreachableProvider(cause);
  return new Fault("FAILED_PRECONDITION", "the identity provider is not what its configuration here says: its discovery document cannot be used", { cause });
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
  if (registrationErrors.includes(error)) return new Fault("FAILED_PRECONDITION", `the identity provider does not accept this server: ${error}`, { cause });
  if (answerStatusOf(thrown) >= 500) return unreachableProvider(cause);
  return unauthenticated("the identity provider's answer to this sign-in is not valid", cause);
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
  throw denied("Permission denied: the identity provider does not say who you are to it (the claim oid)");
};

/** Claims as plain values. */
const plainClaims = (claims: unknown): JsonObject => {
  const value = JSON.parse(JSON.stringify(claims ?? {})) as Json;
  return isObject(value) ? value : {};
};

interface CachedMetadata {
  readonly metadata: Promise<ServerMetadata>;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

export const openProviders = (settings: SignInSettings): Providers => {
  const { authn, vault, clock, log } = settings;
  // /oauth is open: whoever calls it must not make us ask an issuer each time, nor one that is down (attack 18).
  const cache = new Map<string, CachedMetadata>();

  const guardedFetch: CustomFetch = async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : typeof body === "string" ? body : undefined;
    const reply = await authn.outbound.fetch("issuer", url, {
      method: method === "POST" ? "POST" : "GET",
      headers: Object.fromEntries(new Headers(headers)),
      ...(sent === undefined ? {} : { body: sent }),
    });
    const bodiless = [204, 205, 304].includes(reply.status);
    return new Response(bodiless ? null : new Uint8Array(reply.body), { status: reply.status, headers: reply.headers });
  };

  const discover = async (issuer: string): Promise<ServerMetadata> => {
    const client = await loadClient();
    // Which plain addresses may be reached is the guarded client's to decide.
    const found = await client.discovery(new URL(issuer), "discovery", {}, undefined, {
      [client.customFetch]: guardedFetch,
      execute: [client.allowInsecureRequests],
    });
    const metadata = found.serverMetadata();
    // Attack 17: in the same letters, or it is another issuer.
    if (metadata.issuer !== issuer) throw new Error("the discovery document names another issuer");
    return metadata;
  };

  const metadataOf = (issuer: string): Promise<ServerMetadata> => {
    const cached = cache.get(issuer);
    if (cached && cached.untilMs > clock()) return cached.metadata;
    const metadata = discover(issuer);
    if (cache.size >= limits.issuerCacheEntries) cache.clear();
    cache.set(issuer, { metadata, untilMs: clock() + limits.issuerKeysLifetimeMs });
    metadata.catch((cause: unknown) => {
      cache.set(issuer, { metadata, untilMs: clock() + limits.issuerRetryMs });
      log("signin.provider.failed", { issuer, cause: describeError(cause) });
    });
    return metadata;
  };

  const configure = async (client: Client, { uid, oidc, clientSecretSealed }: Provider): Promise<Configuration> => {
    const metadata = await metadataOf(oidc.issuer).catch((thrown: unknown) => {
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
    configuration[client.customFetch] = guardedFetch;
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
    authorizationUrl: async (provider, { state, nonce, verifier }) => {
      const client = await loadClient();
      const configuration = await configure(client, provider);
      const { issuer, additionalScopes } = provider.oidc;
      const parameters = {
        redirect_uri: urlOfPath(settings, callbackPath),
        scope: [...new Set(["openid", ...additionalScopes])].join(" "),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      };
      try {
        const url = client.buildAuthorizationUrl(configuration, parameters);
        if (url.protocol !== "https:" && url.protocol !== new URL(issuer).protocol) throw new Error(`the authorization endpoint is ${url.protocol}`);
        return url.href;
      } catch (thrown) {
        throw unusableProvider(thrown);
      }
    },
    readCallback: async (provider, { state, nonce, verifier, issuer, clientId }, query) => {
      if (issuer !== provider.oidc.issuer || clientId !== provider.oidc.clientId)
        throw new Fault("FAILED_PRECONDITION", "the identity provider has been changed meanwhile; begin again");
      const client = await loadClient();
      const configuration = await configure(client, provider);
      const callbackUrl = new URL(urlOfPath(settings, callbackPath));
      callbackUrl.search = query.toString();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const tokens = await client.authorizationCodeGrant(configuration, callbackUrl, checks);
        const claims = plainClaims(tokens.claims());
        const idToken = tokens.id_token ?? "";
        const more = await fetchMissingClaims(client, configuration, provider, tokens.access_token, claims);
        const upstream = await authn.verifyIdToken(idToken, more);
        if (upstream.issuer !== issuer) throw new Error("the ID token is another issuer's");
        const groups = upstreamGroupsOf({ ...more, ...claims }, provider.oidc.groupsClaim);
        return { upstream, groups, externalId: externalIdOf(claims, upstream.subject, provider), idToken };
      } catch (thrown) {
        throw providerFault(client, thrown);
      }
    },
  };
};
