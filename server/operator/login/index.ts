// `gantry login` and `gantry logout`: a person at a terminal, who may be far from the server. Nothing here needs a
// database or a setting of the server.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import type { Run } from "../commands.ts";
import { forgetTokens, keepToken, tokenFile } from "./cache.ts";
import { ask, clean, findIssuer, type Issuer } from "./issuer.ts";
import type { SignIn, Tokens } from "./sign-in.ts";

export interface Wanted {
  readonly issuer: string;
  readonly audience: string | undefined;
  readonly idp: string | undefined;
  readonly way: "device" | "headless" | "browser";
}

const tokensBy = async (way: Wanted["way"], signIn: SignIn): Promise<Tokens> => {
  if (way === "headless") return (await import("./headless.ts")).byHeadless(signIn);
  if (way === "browser") return (await import("./browser.ts")).byBrowser(signIn);
  return (await import("./device.ts")).byDevice(signIn);
};

/** What the token says, unverified: it is the server's own business. */
const claimsOf = (token: string): JsonObject => {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as Json;
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
};

/** How the server calls whoever holds this token. */
const nameOf = async (issuer: Issuer, token: string, stop: AbortSignal): Promise<string> => {
  const claims = claimsOf(token);
  const reply = await ask(`${issuer.url.replace(/\/+$/, "")}/auth/v1/ok`, stop, { token }).catch(() => undefined);
  const said = reply?.status === 200 ? reply.body : {};
  return clean(text(said, "email") || text(part(said, "profile"), "name") || text(claims, "email") || text(claims, "sub"));
};

const until = (token: string): string => {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? new Date(exp * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) : "an unknown time";
};

const isLoopback = (hostname: string): boolean => hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);

const checkAddress = (issuer: string, err: NodeJS.WriteStream): void => {
  const url = URL.parse(issuer);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new Fault("INVALID_ARGUMENT", `--issuer must be the server's address, such as https://gantry.example.com, not ${JSON.stringify(issuer)}`);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) err.write(`Careful: ${issuer} is not encrypted, and whoever can listen in can take the token.\n`);
};

const signals = ["SIGINT", "SIGTERM"] as const;

export const login = async ({ environment, out, err }: Run, wanted: Wanted): Promise<number> => {
  checkAddress(wanted.issuer, err);
  const stopping = new AbortController();
  const asked = (): void => stopping.abort();
  // Each signal, not only the first: Ctrl-C may arrive once more by way of bin/node.js.
  for (const signal of signals) process.on(signal, asked);
  const stop = stopping.signal;
  try {
    const issuer = await findIssuer(wanted.issuer, stop);
    const audience = wanted.audience ?? issuer.url;
    // Now, and not when somebody has signed in for nothing.
    tokenFile(environment, audience, "oidc-token");
    const tokens = await tokensBy(wanted.way, { issuer, audience, idp: wanted.idp, err, stop });
    if (tokens.access === "") throw new Fault("FAILED_PRECONDITION", `${issuer.url} confirmed the sign-in and sent no token`);
    const name = await nameOf(issuer, tokens.access, stop);
    const file = keepToken(environment, audience, "oidc-token", tokens.access);
    keepToken(environment, audience, "refresh-token", tokens.refresh);
    const renewed = tokens.refresh === undefined ? "" : "; clients renew it";
    out.write(`Signed in to ${issuer.url} as ${name}\nThe token is in ${file}, good until ${until(tokens.access)}${renewed}\n`);
    return 0;
  } catch (thrown) {
    if (!stop.aborted) throw thrown;
    err.write("Stopped. Nobody has been signed in.\n");
    return 1;
  } finally {
    for (const signal of signals) process.off(signal, asked);
  }
};

export const logout = ({ environment, out }: Run, audience: string): number => {
  const found = forgetTokens(environment, audience);
  out.write(found ? `Signed out: the tokens for ${audience} are removed from this machine\n` : `There were no tokens for ${audience}\n`);
  return 0;
};
