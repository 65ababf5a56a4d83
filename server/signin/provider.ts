// Talks to identity providers: authorization code flow with PKCE (always S256), state and nonce, through the guarded
// client. openid-client knows the protocol; that a signature is right is authn's to say, whose keys of issuers are
// kept and renewed for every kind of token. It is loaded with the first sign-in: a server without one does not pay.

import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { Upstream } from "#authn";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { clientSecretPurpose, type Provider } from "#store";
import { addressOf, type SignInSettings } from "./dependencies.ts";

/** What binds an answer of the provider to the question that was asked. */
export interface AuthorizationRequest {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636; its hash went along with the question. */
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
  readonly idToken: string;
}

export interface Providers {
  /** Where the browser goes to be asked. */
  authorizationUrl(provider: Provider, question: AuthorizationRequest): Promise<string>;
  /** What the provider says to the browser's way back, `query`. */
  readCallback(provider: Provider, question: AuthorizationRequest, query: URLSearchParams): Promise<UpstreamUser>;
}

type Client = typeof import("openid-client");

const load = (): Promise<Client> => import("openid-client");

export const callbackPath = "/oauth/callback";

/** The message and code of an error and of what lies below it, but nothing that it carries: that may be a secret. */
const outline = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown";
  const code = "code" in thrown && typeof thrown.code === "string" ? ` (${thrown.code})` : "";
  return `${thrown.message}${code}${thrown.cause instanceof Error ? `: ${outline(thrown.cause)}` : ""}`;
};

/** The fault inside: what the guarded client throws comes wrapped. */
const faultIn = (thrown: unknown): Fault | undefined => (thrown instanceof Fault ? thrown : thrown instanceof Error ? faultIn(thrown.cause) : undefined);

const oauthError = (thrown: unknown): string => (thrown instanceof Error && "error" in thrown && typeof thrown.error === "string" ? thrown.error : "");

/** Errors of the token endpoint that are about this server's registration there and not about the person. */
const ours = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"];

/** The status of the provider's answer that an error is about; 0 where it is about none. */
const statusIn = (thrown: unknown): number => {
  if (!(thrown instanceof Error)) return 0;
  return thrown.cause instanceof Response ? thrown.cause.status : "status" in thrown ? Number(thrown.status) : 0;
};

const down = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the identity provider cannot be reached at the moment; try again", { cause });

/** Says why the provider cannot even be asked. */
const unusable = (thrown: unknown): Fault => {
  const cause = new Error(outline(thrown));
  if (faultIn(thrown) || statusIn(thrown) >= 500) return down(cause);
  return new Fault("FAILED_PRECONDITION", "the identity provider is not what its configuration here says: its discovery document cannot be used", { cause });
};

/** Says what went wrong at the provider. */
const faultOf = (client: Client, thrown: unknown): Fault => {
  const inner = faultIn(thrown);
  if (inner) return inner;
  const cause = new Error(outline(thrown));
  const error = oauthError(thrown);
  // RFC 6749, 4.1.2.1: the characters of an error. It came with an address, so nothing else is shown.
  if (thrown instanceof client.AuthorizationResponseError)
    return denied(`the identity provider did not sign you in: ${/^[\x20-\x7e]{1,64}$/.test(error) ? error : "no reason given"}`);
  if (ours.includes(error)) return new Fault("FAILED_PRECONDITION", `the identity provider does not accept this server: ${error}`, { cause });
  if (statusIn(thrown) >= 500) return down(cause);
  return unauthenticated("the identity provider's answer to this sign-in is not valid", cause);
};

const groupsOf = (claims: JsonObject, name: string): string[] => {
  if (name === "" || !Object.hasOwn(claims, name)) return [];
  const value = claims[name];
  const entries = Array.isArray(value) ? value : [value];
  const names = entries
    .filter((entry) => typeof entry === "string")
    .filter((entry) => entry.length <= limits.upstreamGroupLengthMax && entry.isWellFormed() && !entry.includes("\0"));
  return [...new Set(names)].slice(0, limits.upstreamGroupsMax);
};

/** Claims as plain values. */
const plain = (claims: unknown): JsonObject => {
  const value = JSON.parse(JSON.stringify(claims ?? {})) as Json;
  return isObject(value) ? value : {};
};

interface Known {
  readonly metadata: Promise<ServerMetadata>;
  readonly untilMs: number;
}

export const openProviders = (settings: SignInSettings): Providers => {
  const { authn, vault, clock, log } = settings;
  // /oauth is open: whoever calls it must not make us ask an issuer each time, nor one that is down (attack 18).
  const known = new Map<string, Known>();

  const guarded: CustomFetch = async (url, { method, headers, body }) => {
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
    const client = await load();
    // Which plain addresses may be reached is the guarded client's to decide.
    const found = await client.discovery(new URL(issuer), "discovery", {}, undefined, {
      [client.customFetch]: guarded,
      execute: [client.allowInsecureRequests],
    });
    const metadata = found.serverMetadata();
    // Attack 17: in the same letters, or it is another issuer.
    if (metadata.issuer !== issuer) throw new Error("the discovery document names another issuer");
    return metadata;
  };

  const metadataOf = (issuer: string): Promise<ServerMetadata> => {
    const held = known.get(issuer);
    if (held && held.untilMs > clock()) return held.metadata;
    const metadata = discover(issuer);
    if (known.size >= limits.issuerCacheEntries) known.clear();
    known.set(issuer, { metadata, untilMs: clock() + limits.issuerKeysLifetimeMs });
    metadata.catch((cause: unknown) => {
      known.set(issuer, { metadata, untilMs: clock() + limits.issuerRetryMs });
      log("signin.provider.failed", { issuer, cause: outline(cause) });
    });
    return metadata;
  };

  const configure = async (client: Client, { oidc, clientSecretSealed }: Provider): Promise<Configuration> => {
    const metadata = await metadataOf(oidc.issuer).catch((thrown: unknown) => {
      throw unusable(thrown);
    });
    const secret = clientSecretSealed === undefined ? undefined : vault.open(clientSecretPurpose, clientSecretSealed);
    if (clientSecretSealed !== undefined && secret === undefined) throw new Error("a client secret cannot be opened with this server's secret key");
    const methods = metadata.token_endpoint_auth_methods_supported;
    const proof =
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
      proof,
    );
    configuration[client.customFetch] = guarded;
    client.allowInsecureRequests(configuration);
    return configuration;
  };

  /** Claims that the provider tells at its userinfo endpoint only: asked for where the ID token leaves out what we need. */
  const moreClaims = async (client: Client, configuration: Configuration, provider: Provider, token: string, claims: JsonObject): Promise<JsonObject> => {
    const { groupsClaim, additionalScopes } = provider.oidc;
    const lacksGroups = groupsClaim !== "" && !Object.hasOwn(claims, groupsClaim);
    const lacksEmail = additionalScopes.includes("email") && !Object.hasOwn(claims, "email");
    if (!(lacksGroups || lacksEmail) || !configuration.serverMetadata().userinfo_endpoint) return {};
    return plain(await client.fetchUserInfo(configuration, token, String(claims.sub)));
  };

  return {
    authorizationUrl: async (provider, { state, nonce, verifier }) => {
      const client = await load();
      const configuration = await configure(client, provider);
      const { issuer, additionalScopes } = provider.oidc;
      const parameters = {
        redirect_uri: addressOf(settings, callbackPath),
        scope: [...new Set(["openid", ...additionalScopes])].join(" "),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      };
      try {
        const address = client.buildAuthorizationUrl(configuration, parameters);
        if (address.protocol !== "https:" && address.protocol !== new URL(issuer).protocol)
          throw new Error(`the authorization endpoint is ${address.protocol}`);
        return address.href;
      } catch (thrown) {
        throw unusable(thrown);
      }
    },
    readCallback: async (provider, { state, nonce, verifier, issuer, clientId }, query) => {
      if (issuer !== provider.oidc.issuer || clientId !== provider.oidc.clientId)
        throw new Fault("FAILED_PRECONDITION", "the identity provider has been changed meanwhile; begin again");
      const client = await load();
      const configuration = await configure(client, provider);
      const address = new URL(addressOf(settings, callbackPath));
      address.search = query.toString();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const tokens = await client.authorizationCodeGrant(configuration, address, checks);
        const claims = plain(tokens.claims());
        const idToken = tokens.id_token ?? "";
        const more = await moreClaims(client, configuration, provider, tokens.access_token, claims);
        const upstream = await authn.verifyIdToken(idToken, more);
        if (upstream.issuer !== issuer) throw new Error("the ID token is another issuer's");
        return { upstream, groups: groupsOf({ ...more, ...claims }, provider.oidc.groupsClaim), idToken };
      } catch (thrown) {
        throw faultOf(client, thrown);
      }
    },
  };
};
