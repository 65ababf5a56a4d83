// The public entry: `gantry login` and `gantry logout`, and the sign-in as other clients on this machine use it. A client, for
// a person at a terminal who may be far from the server: it knows the server's address and nothing of its database or settings.

import { Fault } from "#base/fault.ts";
import { discoverIssuer } from "./issuer-client.ts";
import type { MethodOptions, Tokens } from "./method.ts";
import { fetchPerson } from "./person.ts";
import { checkRegistryFiles, type RegistryLogin, removeRegistryLogin, writeRegistryLogin } from "./registry-files.ts";
import { tokenEndMs } from "./session.ts";
import { removeTokens, storeToken, tokenFile } from "./token-cache.ts";

export { answerCredentialRequest } from "./credential-helper.ts";
export { exchangeToken } from "./exchange.ts";
export { type JsonResponse, refusalText, requestJson, type RequestOptions } from "./issuer-client.ts";
export { withLock } from "./lock.ts";
export { unverifiedClaims } from "./person.ts";
export { writePrivateFile } from "./private-file.ts";
export { sessionToken, tokenEndMs } from "./session.ts";
export { removeTokens, storeToken, tokenFile } from "./token-cache.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface SignInOptions {
  /** The server's address. */
  readonly issuer: string;
  /** What the token is for; undefined: the server itself. */
  readonly audience: string | undefined;
  /** An identity provider's uid, or the name of a verified organization. */
  readonly idp: string | undefined;
  readonly method: "device" | "headless" | "browser";
  /** Signs docker, podman and their like in, too: with the token, or by the credential helper. */
  readonly registry: RegistryLogin["by"] | undefined;
  /** Where the user's cache is. */
  readonly environment: Environment;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
}

export interface SignOutOptions {
  /** The server's address. */
  readonly issuer: string;
  /** What the token was for; undefined: the server itself. */
  readonly audience: string | undefined;
  readonly environment: Environment;
  readonly out: NodeJS.WriteStream;
}

const obtainTokens = async (method: SignInOptions["method"], options: MethodOptions): Promise<Tokens> => {
  if (method === "headless") return (await import("./headless.ts")).signInHeadless(options);
  if (method === "browser") return (await import("./browser.ts")).signInByBrowser(options);
  return (await import("./device.ts")).signInByDevice(options);
};

const formatExpiry = (token: string): string => {
  const endMs = tokenEndMs(token);
  return endMs > 0 ? new Date(endMs).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) : "an unknown time";
};

const isLoopback = (hostname: string): boolean => hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);

/** Throws a Fault where it is no address of a server, and warns of one without TLS. */
const checkIssuerUrl = (issuer: string, err: NodeJS.WriteStream): void => {
  const url = URL.parse(issuer);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new Fault("INVALID_ARGUMENT", `--issuer must be the server's address, such as https://gantry.example.com, not ${JSON.stringify(issuer)}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) err.write(`Careful: ${issuer} is not encrypted, and whoever can listen in can take the token.\n`);
};

/** Says where docker and its like are signed in now, and until when. */
const registryText = (environment: Environment, issuer: string, by: RegistryLogin["by"], token: string): string => {
  const { host } = new URL(issuer);
  const files = writeRegistryLogin(environment, host, by === "token" ? { by, token } : { by });
  const until =
    by === "token" ? `until ${formatExpiry(token)}, then sign in again` : "for as long as you are signed in: docker-credential-gantry renews the token";
  return `docker, podman, skopeo and their like are signed in at ${host} ${until} (${files.join(", ")})\n`;
};

const signals = ["SIGINT", "SIGTERM"] as const;

/** Signs the person in and stores the tokens. False where the person stopped it; throws a Fault where it cannot be done. */
export const signIn = async ({ issuer: address, audience: wanted, idp, method, registry, environment, out, err }: SignInOptions): Promise<boolean> => {
  checkIssuerUrl(address, err);
  const stopping = new AbortController();
  const abort = (): void => stopping.abort();
  // Each signal, not only the first: Ctrl-C may arrive once more by way of bin/node.js.
  for (const signal of signals) process.on(signal, abort);
  const stop = stopping.signal;
  try {
    const issuer = await discoverIssuer(address, stop);
    const audience = wanted ?? issuer.url;
    // Throws now, and not when somebody has signed in for nothing.
    tokenFile(environment, audience, "oidc-token");
    if (registry !== undefined) checkRegistryFiles(environment, new URL(issuer.url).host, registry);
    const tokens = await obtainTokens(method, { issuer, audience, idp, err, stop });
    if (tokens.access === "") throw new Fault("FAILED_PRECONDITION", `${issuer.url} confirmed the sign-in and sent no token`);
    const name = await fetchPerson(issuer, tokens.access, stop);
    const file = storeToken(environment, audience, "oidc-token", tokens.access);
    storeToken(environment, audience, "refresh-token", tokens.refresh);
    const renewal = tokens.refresh === undefined ? "" : "; clients renew it";
    out.write(`Signed in to ${issuer.url} as ${name}\nThe token is in ${file}, good until ${formatExpiry(tokens.access)}${renewal}\n`);
    if (registry !== undefined) out.write(registryText(environment, issuer.url, registry, tokens.access));
    return true;
  } catch (thrown) {
    if (!stop.aborted) throw thrown;
    err.write("Stopped. Nobody has been signed in.\n");
    return false;
  } finally {
    for (const signal of signals) process.off(signal, abort);
  }
};

/** Removes the tokens for this audience from the machine, and what docker and its like have of the server's. */
export const signOut = ({ issuer, audience = issuer, environment, out }: SignOutOptions): void => {
  const found = removeTokens(environment, audience);
  out.write(found ? `Signed out: the tokens for ${audience} are removed from this machine\n` : `There were no tokens for ${audience}\n`);
  const host = audience === issuer ? URL.parse(issuer)?.host : undefined;
  const files = host === undefined ? [] : removeRegistryLogin(environment, host);
  if (files.length > 0) out.write(`docker, podman, skopeo and their like are signed out of ${host} (${files.join(", ")})\n`);
};
