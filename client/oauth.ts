// Signs users in: with a code confirmed in any browser (RFC 8628), or through the user's own browser (authorization code with
// PKCE, RFC 7636). exchange.ts handles tokens of CI systems.

import { clientLimits } from "#base/client-limits.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { newAuthorizationRequest } from "./authorization-request.ts";
import { pause } from "./retries.ts";
import { keptToken, type TokenSource } from "./tokens.ts";

/** The tokens of a sign-in. */
export interface Tokens {
  readonly accessToken: string;
  /** Undefined unless `offline_access` is in the scope. It works once: each renewal returns the next. */
  readonly refreshToken: string | undefined;
  readonly expiresInMs: number;
}

/**
 * Why the server refused a sign-in. `error` is OAuth's code: "access_denied", "expired_token", "invalid_grant", "invalid_response" (the
 * response is not one of Gantry), and others.
 *
 * @example
 * ```ts
 * try {
 *   await signInWithDevice({ server: "https://gantry.example.com", onCode: ({ url }) => console.log(url) });
 * } catch (error) {
 *   if (error instanceof OAuthError && error.error === "expired_token") console.error("The code was not confirmed in time.");
 * }
 * ```
 */
export class OAuthError extends Error {
  readonly error: string;

  constructor(error: string, message: string) {
    super(message);
    this.name = "OAuthError";
    this.error = error;
  }
}

interface Connection {
  /** The server's URL: "https://gantry.example.com". */
  readonly server: string;
  /** Ends the sign-in; the function then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Sends requests instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

interface JsonResponse {
  readonly status: number;
  readonly body: JsonObject;
}

const requestForm = async ({ fetch: own, signal }: Connection, url: string, form?: Readonly<Record<string, string | undefined>>): Promise<JsonResponse> => {
  const given = Object.entries(form ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await (own ?? fetch)(url, {
    method: form ? "POST" : "GET",
    // Codes and tokens are meant for this address only.
    redirect: "manual",
    credentials: "omit",
    cache: "no-store",
    headers: { accept: "application/json" },
    ...(form ? { body: new URLSearchParams(given) } : {}),
    ...(signal ? { signal } : {}),
  });
  let body: Json | undefined;
  try {
    body = (await response.json()) as Json;
  } catch {
    signal?.throwIfAborted();
  }
  if (!isObject(body)) throw new OAuthError("invalid_response", `${new URL(url).host} is not a Gantry server (HTTP ${response.status})`);
  return { status: response.status, body };
};

const refusalOf = ({ status, body }: JsonResponse): OAuthError =>
  new OAuthError(text(body, "error") || "invalid_response", text(body, "error_description") || text(body, "error") || `HTTP ${status}`);

/** Reads the server's metadata (RFC 8414). By §3.3, another issuer could be a server that presents this one's endpoints. */
const findEndpoints = async (connection: Connection): Promise<(endpoint: string) => string> => {
  const server = withoutTrailing(connection.server, "/");
  const response = await requestForm(connection, `${server}/.well-known/oauth-authorization-server`);
  if (response.status !== 200) throw refusalOf(response);
  const issuer = text(response.body, "issuer");
  if (withoutTrailing(issuer, "/") !== server)
    throw new OAuthError("invalid_response", `the issuer of the server at ${server} must be that address, not ${JSON.stringify(issuer)}`);
  return (endpoint) => {
    const url = text(response.body, endpoint);
    if (URL.parse(url)?.protocol !== new URL(server).protocol) throw new OAuthError("invalid_response", `${server} has no ${endpoint}`);
    return url;
  };
};

const readTokens = (response: JsonResponse): Tokens => {
  const accessToken = text(response.body, "access_token");
  if (response.status !== 200 || accessToken === "") throw refusalOf(response);
  const seconds = response.body.expires_in;
  return { accessToken, refreshToken: text(response.body, "refresh_token") || undefined, expiresInMs: typeof seconds === "number" ? seconds * 1000 : 0 };
};

// ---- with a code ----------------------------------------------------------------------------------------------

export interface DeviceCode {
  /** Shown on the page; the user compares it. */
  readonly code: string;
  /** The page that confirms it, with the code filled in. */
  readonly url: string;
  readonly expiresInMs: number;
}

export interface DeviceOptions extends Connection {
  /** Shows the code and the address to the user. */
  readonly onCode: (code: DeviceCode) => void;
  /** The name of this program on that page. */
  readonly clientId?: string | undefined;
  /** Separated by spaces: uids of groups, and `offline_access` for a refresh token. */
  readonly scope?: string | undefined;
  /** Names of capabilities that the token is limited to. */
  readonly capabilities?: readonly string[] | undefined;
  /** Uid or name of the identity provider, if the user need not be asked. */
  readonly identityProvider?: string | undefined;
  /** Waits between requests, for tests. */
  readonly wait?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

const secondsOf = (body: JsonObject, key: string, otherwiseMs: number): number => {
  const value = body[key];
  return typeof value === "number" && value > 0 ? value * 1000 : otherwiseMs;
};

/**
 * Signs a user in with a code that any browser confirms: for terminals and machines without a browser. Throws `OAuthError` if the user
 * refuses or the code expires.
 *
 * @example
 * ```ts
 * const tokens = await signInWithDevice({
 *   server: "https://gantry.example.com",
 *   scope: "offline_access",
 *   onCode: ({ code, url }) => console.log(`Open ${url} and confirm ${code}.`),
 * });
 * const gantry = new Gantry({ server: "https://gantry.example.com", token: tokens.accessToken });
 * ```
 */
export const signInWithDevice = async (options: DeviceOptions): Promise<Tokens> => {
  const endpointOf = await findEndpoints(options);
  const clientId = options.clientId ?? "gantry-client";
  const { capabilities = [] } = options;
  const started = await requestForm(options, endpointOf("device_authorization_endpoint"), {
    client_id: clientId,
    audience: withoutTrailing(options.server, "/"),
    scope: options.scope,
    cap: capabilities.length > 0 ? capabilities.join(" ") : undefined,
    idp_id: options.identityProvider,
  });
  if (started.status !== 200) throw refusalOf(started);
  const { body } = started;
  options.onCode({
    code: text(body, "user_code"),
    url: text(body, "verification_uri_complete") || text(body, "verification_uri"),
    expiresInMs: secondsOf(body, "expires_in", 0),
  });
  const signal = options.signal ?? new AbortController().signal;
  const wait = options.wait ?? pause;
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: text(body, "device_code"), client_id: clientId };
  let intervalMs = secondsOf(body, "interval", clientLimits.devicePollIntervalMs);
  // The server reports when the code has expired.
  for (;;) {
    await wait(intervalMs, signal);
    const response = await requestForm(options, endpointOf("token_endpoint"), form);
    const error = text(response.body, "error");
    if (error === "slow_down") intervalMs += clientLimits.devicePollSlowerMs;
    else if (error !== "authorization_pending") return readTokens(response);
  }
};

// ---- through a browser ----------------------------------------------------------------------------------------

export interface SignInOptions extends Connection {
  /** The address of this program's client document, or a name from the server's `GANTRY_CLIENTS`. */
  readonly clientId: string;
  /** The address to return to: one of the client's `redirect_uris`. */
  readonly redirectUri: string;
  /** Separated by spaces: capabilities, uids of groups, and `offline_access` for a refresh token. */
  readonly scope?: string | undefined;
}

/** A sign-in that is under way. Plain JSON: keep it (in a page, in `sessionStorage`) until the browser returns. */
export interface PendingSignIn {
  readonly server: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly verifier: string;
}

/**
 * Starts a sign-in through the user's browser, with PKCE: returns the address to open, and what `finishSignIn` needs.
 *
 * @example
 * ```ts
 * const { url, pending } = await startSignIn({
 *   server: "https://gantry.example.com",
 *   clientId: "https://agent.example.com/client.json",
 *   redirectUri: "https://agent.example.com/signed-in",
 * });
 * sessionStorage.setItem("sign-in", JSON.stringify(pending));
 * location.assign(url);
 * ```
 */
export const startSignIn = async (options: SignInOptions): Promise<{ readonly url: string; readonly pending: PendingSignIn }> => {
  const { clientId, redirectUri } = options;
  const server = withoutTrailing(options.server, "/");
  const endpointOf = await findEndpoints(options);
  const { parameters, state, verifier } = await newAuthorizationRequest({ ...options, server });
  const url = new URL(endpointOf("authorization_endpoint"));
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, pending: { server, clientId, redirectUri, state, verifier } };
};

/**
 * Finishes a sign-in with the address to which the browser returned. Throws `OAuthError` if the user refused, or if the address does not
 * belong to this sign-in.
 *
 * @example
 * ```ts
 * const pending = JSON.parse(sessionStorage.getItem("sign-in") ?? "{}") as PendingSignIn;
 * const tokens = await finishSignIn(pending, location.href);
 * ```
 */
export const finishSignIn = async (pending: PendingSignIn, returnedTo: string | URL, options: Omit<Connection, "server"> = {}): Promise<Tokens> => {
  const { searchParams } = new URL(returnedTo);
  if (pending.state === "" || searchParams.get("state") !== pending.state)
    throw new OAuthError("invalid_response", "the address does not belong to this sign-in");
  const issuer = searchParams.get("iss");
  // RFC 9207: otherwise another server could receive this server's code.
  if (issuer !== null && withoutTrailing(issuer, "/") !== pending.server)
    throw new OAuthError("invalid_response", `the browser returned from ${JSON.stringify(issuer)}, not from ${pending.server}`);
  const error = searchParams.get("error");
  if (error !== null) throw new OAuthError(error, searchParams.get("error_description") ?? error);
  const connection = { ...options, server: pending.server };
  const endpointOf = await findEndpoints(connection);
  return readTokens(
    await requestForm(connection, endpointOf("token_endpoint"), {
      grant_type: "authorization_code",
      code: searchParams.get("code") ?? "",
      client_id: pending.clientId,
      redirect_uri: pending.redirectUri,
      code_verifier: pending.verifier,
      resource: pending.server,
    }),
  );
};

// ---- staying signed in ----------------------------------------------------------------------------------------

export interface RefreshOptions extends Omit<Connection, "signal"> {
  /** The tokens that the sign-in returned. */
  readonly tokens: Tokens;
  /** As in the sign-in (default: that of `signInWithDevice`). */
  readonly clientId?: string | undefined;
  /** Receives each new pair. Store it before this returns: the refresh token before it no longer works. */
  readonly onRefresh: (tokens: Tokens) => void | Promise<void>;
  /** Milliseconds of any origin, for tests. */
  readonly clock?: (() => number) | undefined;
}

/**
 * A token source that keeps a user signed in: it renews the access token five minutes before it expires, or if the server refuses it.
 *
 * @example
 * ```ts
 * const server = "https://gantry.example.com";
 * const tokens = await signInWithDevice({ server, scope: "offline_access", onCode: ({ url }) => console.log(url) });
 * const token = refreshedToken({ server, tokens, onRefresh: (next) => console.log("store", next.refreshToken) });
 * const gantry = new Gantry({ server, token });
 * ```
 */
export const refreshedToken = ({ tokens, clientId = "gantry-client", onRefresh, clock, ...connection }: RefreshOptions): TokenSource => {
  let current = tokens;
  let isFirst = true;
  const issue = async (): Promise<{ token: string; lifetimeMs: number }> => {
    if (!isFirst) {
      if (current.refreshToken === undefined) throw new OAuthError("invalid_grant", "the sign-in has expired, and it has no refresh token");
      const endpointOf = await findEndpoints(connection);
      const form = { grant_type: "refresh_token", refresh_token: current.refreshToken, client_id: clientId, resource: withoutTrailing(connection.server, "/") };
      current = readTokens(await requestForm(connection, endpointOf("token_endpoint"), form));
      await onRefresh(current);
    }
    isFirst = false;
    return { token: current.accessToken, lifetimeMs: current.expiresInMs };
  };
  return keptToken(issue, { clock });
};
