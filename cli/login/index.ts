// Public entry: `gantry login` and `gantry logout`, and the stored sign-in for other commands. It knows only the server's
// address, nothing of its database or settings.

import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { exchangeToken } from "./exchange.ts";
import { discoverIssuer, type Issuer, printable } from "./issuer-client.ts";
import type { MethodOptions, Tokens } from "./method.ts";
import { fetchWhoAmI, organizationsOf, personText, unverifiedClaims } from "./person.ts";
import { fetchProviders, type OfferedProvider } from "./providers.ts";
import { checkRegistryFiles, type RegistryLogin, removeRegistryLogin, writeRegistryLogin } from "./registry-files.ts";
import { tokenEndMs } from "./session.ts";
import { revokeSession, revokeToken } from "./revocation.ts";
import { readStoredToken, removeTokens, storeToken, tokenFile, type TokenPlace } from "./token-cache.ts";

export { answerCredentialRequest } from "./credential-helper.ts";
export { exchangeToken } from "./exchange.ts";
export { withLock } from "./lock.ts";
export { fetchWhoAmI, organizationsOf, personText, unverifiedClaims } from "./person.ts";
export { writePrivateFile } from "./private-file.ts";
export type { OfferedProvider } from "./providers.ts";
export { type SessionOptions, sessionToken, tokenEndMs } from "./session.ts";
export { readStoredToken, removeTokens, storeToken, tokenFile } from "./token-cache.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A user in a browser in one of three ways, or an identity with an external token. */
export type SignInMethod =
  | {
      readonly by: "device" | "headless" | "browser";
      /** Uid of an identity provider, or name of a verified organization. */
      readonly idp: string | undefined;
      readonly invite: string | undefined;
      readonly choose: (offered: readonly OfferedProvider[], stop: AbortSignal) => Promise<string>;
    }
  | { readonly by: "exchange"; readonly identity: string | undefined; readonly token: string };

export interface SignInOptions {
  /** URL of the server. */
  readonly issuer: string;
  /** Audience of the token; undefined for the server itself. */
  readonly audience: string | undefined;
  readonly method: SignInMethod;
  /** Also signs in docker, podman and similar tools, with the token or through the credential helper. */
  readonly registry: RegistryLogin["by"] | undefined;
  /** Which of the user's sign-ins at this server; undefined for the one that the platform's clients use. */
  readonly alias: string | undefined;
  /** Locates the user's cache. */
  readonly environment: Environment;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
}

export interface SignedIn {
  /** Uids of the organizations in which the token has permissions. */
  readonly organizations: readonly string[];
}

export interface SignOutOptions {
  readonly issuer: string;
  readonly audience: string | undefined;
  readonly alias: string | undefined;
  readonly environment: Environment;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
}

const chooseProvider = async (
  { idp, choose }: Extract<SignInMethod, { readonly choose: unknown }>,
  issuer: Issuer,
  stop: AbortSignal,
): Promise<string | undefined> => {
  if (idp !== undefined && isUid(idp)) return idp;
  const offered = await fetchProviders(issuer, idp ?? "", stop);
  return offered.length > 1 ? choose(offered, stop) : idp;
};

const obtainTokens = async (method: SignInMethod, options: Omit<MethodOptions, "idp" | "invite">): Promise<Tokens> => {
  const { issuer, audience, stop } = options;
  if (method.by === "exchange") {
    const { token, identity } = method;
    return { access: await exchangeToken(withoutTrailing(issuer.url, "/"), { token, identity, audience: [audience] }, stop), refresh: undefined };
  }
  const asked: MethodOptions = { ...options, idp: await chooseProvider(method, issuer, stop), invite: method.invite };
  if (method.by === "headless") return (await import("./headless.ts")).signInHeadless(asked);
  if (method.by === "browser") return (await import("./browser.ts")).signInByBrowser(asked);
  return (await import("./device.ts")).signInByDevice(asked);
};

const formatExpiry = (token: string): string => {
  const endMs = tokenEndMs(token);
  return endMs > 0 ? new Date(endMs).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) : "an unknown time";
};

const isLoopback = (hostname: string): boolean => hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);

/** Throws a Fault if the URL is invalid; warns without TLS. */
const checkIssuerUrl = (issuer: string, err: NodeJS.WriteStream): void => {
  const url = URL.parse(issuer);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new Fault("INVALID_ARGUMENT", `--server must be the server's address, such as https://gantry.example.com, not ${JSON.stringify(issuer)}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) err.write(`warning: ${issuer} does not use TLS, so the token can be intercepted\n`);
};

const registryText = (environment: Environment, issuer: string, by: RegistryLogin["by"], token: string): string => {
  const { host } = new URL(issuer);
  const files = writeRegistryLogin(environment, host, by === "token" ? { by, token } : { by });
  const until = by === "token" ? `until ${formatExpiry(token)}, then sign in again` : "while your sign-in lasts: docker-credential-gantry renews the token";
  return `docker, podman, skopeo and similar tools are signed in to ${host} ${until} (${files.join(", ")})\n`;
};

const signals = ["SIGINT", "SIGTERM"] as const;

/** Signs in and stores the tokens. Returns undefined if the user aborts; throws a Fault on failure. */
export const signIn = async (options: SignInOptions): Promise<SignedIn | undefined> => {
  const { issuer: address, audience: wanted, method, registry, alias, environment, out, err } = options;
  checkIssuerUrl(address, err);
  const stopping = new AbortController();
  const abort = (): void => stopping.abort();
  // Every signal, because bin/node.js may repeat Ctrl-C.
  for (const signal of signals) process.on(signal, abort);
  const stop = stopping.signal;
  try {
    const issuer = await discoverIssuer(address, stop);
    const audience = wanted ?? issuer.url;
    const place = { audience, alias };
    // Fails before the user signs in.
    tokenFile(environment, place, "oidc-token");
    if (registry !== undefined) checkRegistryFiles(environment, new URL(issuer.url).host, registry);
    const tokens = await obtainTokens(method, { issuer, audience, err, stop });
    if (tokens.access === "") throw new Fault("FAILED_PRECONDITION", `${issuer.url} confirmed the sign-in but sent no token`);
    const whoAmI = await fetchWhoAmI(issuer.url, tokens.access, stop);
    const replaced = readStoredToken(environment, place, "refresh-token");
    const file = storeToken(environment, place, "oidc-token", tokens.access);
    storeToken(environment, place, "refresh-token", tokens.refresh);
    const claims = unverifiedClaims(tokens.access);
    // The replaced session, whose tokens are no longer on this machine. If revocation fails, its refresh token expires unused.
    if (replaced !== undefined) await revokeToken(issuer, replaced, stop).catch(() => undefined);
    const who = method.by === "exchange" ? `the identity ${printable(text(claims, "sub"))}` : personText(whoAmI ?? {}, claims);
    const renewal = tokens.refresh === undefined ? "" : ", renewed automatically";
    out.write(`Signed in to ${issuer.url} as ${who}\nToken stored in ${file}, valid until ${formatExpiry(tokens.access)}${renewal}\n`);
    if (registry !== undefined) out.write(registryText(environment, issuer.url, registry, tokens.access));
    return { organizations: organizationsOf(whoAmI ?? {}) };
  } catch (thrown) {
    if (!stop.aborted) throw thrown;
    err.write("Sign-in canceled.\n");
    return undefined;
  } finally {
    for (const signal of signals) process.off(signal, abort);
  }
};

/** Revokes the session if the server can be reached. */
const revokeKept = async ({ issuer, environment, out, err }: SignOutOptions, place: TokenPlace): Promise<void> => {
  const kept = { access: readStoredToken(environment, place, "oidc-token"), refresh: readStoredToken(environment, place, "refresh-token") };
  if (!kept.access && !kept.refresh) return;
  try {
    await revokeSession(issuer, kept, AbortSignal.timeout(limits.callsOfCommandMs));
    out.write(`Session revoked at ${issuer}\n`);
  } catch (thrown) {
    if (!(thrown instanceof Fault) && !(thrown instanceof DOMException)) throw thrown;
    err.write(`Cannot revoke the session at ${issuer}: ${thrown.message}. To revoke it later, run gantry sessions revoke.\n`);
  }
};

/**
 * Revokes the session and removes its tokens, including those in files of registry clients. Tokens are removed even if the server
 * is unreachable.
 */
export const signOut = async (options: SignOutOptions): Promise<void> => {
  const { issuer, audience = issuer, alias, environment, out } = options;
  const place = { audience, alias };
  await revokeKept(options, place);
  const found = removeTokens(environment, place);
  out.write(found ? `Signed out: removed the tokens for ${audience} from this machine\n` : `No tokens for ${audience} found\n`);
  // Registry clients have the default sign-in of the server.
  const host = audience === issuer && alias === undefined ? URL.parse(issuer)?.host : undefined;
  const files = host === undefined ? [] : removeRegistryLogin(environment, host);
  if (files.length > 0) out.write(`docker, podman, skopeo and similar tools are signed out of ${host} (${files.join(", ")})\n`);
};
export { offerToConsole } from "./console-offer.ts";
export { openInBrowser } from "./open-browser.ts";
