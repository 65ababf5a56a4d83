// A local identity provider that vouches for any user and can be told to lie: a real server with discovery, keys, and a token
// endpoint that verifies clients by RFC 6749 and RFC 7636. `signIn` acts as the browser: redirects, cookie, return.

import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JsonObject } from "#base/json.ts";
import { builtInRoleUid } from "#authz";
import type { World } from "./world.ts";

export type Claims = Readonly<Record<string, unknown>>;

export interface FakeProvider {
  readonly url: string;
  readonly clientSecret: string;
  /** Changes to the ID token's claims; undefined removes one. */
  lies: Claims;
  /** Signs instead of the provider. */
  sign: ((claims: Claims) => Promise<string>) | undefined;
  /** Handles requests instead of the provider, if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  userinfoClaims: Claims | undefined;
  readonly requestedPaths: string[];
  /** Returns a code for this user, for the authorization request at this URL. */
  vouch(address: URL, claims: Claims): string;
  /** Returns an ID token for its client, with the user signed in; `claims` replace or, if undefined, remove claims. */
  idToken(claims: Claims): Promise<string>;
  close(): Promise<void>;
}

interface AuthorizationRequest {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly claims: Claims;
}

const clientId = "gantry-client";

const formOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
};

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** `sendsIss`: its metadata announces the parameter iss of RFC 9207. */
export const openProvider = async (nowMs: () => number, { sendsIss = true } = {}): Promise<FakeProvider> => {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" }] };
  const questions = new Map<string, AuthorizationRequest>();
  const byToken = new Map<string, Claims>();

  const idToken = (said: Claims): Promise<string> => {
    const issued = Math.floor(nowMs() / 1000);
    const claims = { iss: provider.url, aud: clientId, iat: issued, exp: issued + 600, ...said, ...provider.lies };
    const kept = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
    return provider.sign?.(kept) ?? new SignJWT(kept).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(privateKey);
  };

  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await formOf(request);
    const refuse = (status: number, error: string): void => void response.writeHead(status).end(JSON.stringify({ error }));
    const [, basic = ""] = (request.headers.authorization ?? "").split(" ");
    // RFC 6749 §2.3.1: both are encoded before they are joined.
    const [id, secret] = Buffer.from(basic, "base64").toString("utf8").split(":").map(decodeURIComponent);
    if (id !== clientId || secret !== provider.clientSecret) return refuse(401, "invalid_client");
    const question = questions.get(form.get("code") ?? "");
    questions.delete(form.get("code") ?? "");
    if (!question || question.challenge !== hashOf(form.get("code_verifier") ?? "") || question.redirectUri !== form.get("redirect_uri"))
      return refuse(400, "invalid_grant");
    const accessToken = randomBytes(8).toString("hex");
    byToken.set(`Bearer ${accessToken}`, question.claims);
    response.end(JSON.stringify({ access_token: accessToken, token_type: "Bearer", id_token: await idToken({ nonce: question.nonce, ...question.claims }) }));
  };

  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    provider.requestedPaths.push(path);
    if (provider.instead?.(request, response)) return;
    response.setHeader("content-type", "application/json");
    if (path === "/.well-known/openid-configuration") {
      response.end(
        JSON.stringify({
          issuer: provider.url,
          authorization_endpoint: `${provider.url}/authorize`,
          token_endpoint: `${provider.url}/token`,
          jwks_uri: `${provider.url}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
          ...(sendsIss ? { authorization_response_iss_parameter_supported: true } : {}),
          ...(provider.userinfoClaims ? { userinfo_endpoint: `${provider.url}/userinfo` } : {}),
        }),
      );
    } else if (path === "/keys") response.end(JSON.stringify(keys));
    else if (path === "/token") void token(request, response);
    else if (path === "/userinfo") response.end(JSON.stringify({ sub: byToken.get(request.headers.authorization ?? "")?.sub, ...provider.userinfoClaims }));
    else response.writeHead(404).end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // A failing test that does not close the provider must not hang.
  server.unref();
  const provider: FakeProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientSecret: `client-secret-${randomBytes(12).toString("hex")}`,
    lies: {},
    sign: undefined,
    instead: undefined,
    userinfoClaims: undefined,
    requestedPaths: [],
    vouch({ searchParams }, claims) {
      const code = `code-${randomBytes(12).toString("hex")}`;
      questions.set(code, {
        nonce: searchParams.get("nonce") ?? "",
        challenge: searchParams.get("code_challenge") ?? "",
        redirectUri: searchParams.get("redirect_uri") ?? "",
        claims,
      });
      return code;
    },
    idToken,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return provider;
};

/** Registers it with the organization, as its owner. Returns the identity provider's uid. */
export const registerProvider = async (
  world: World,
  provider: FakeProvider,
  more: { readonly parent?: string; readonly role?: string; readonly oidc?: JsonObject } = {},
): Promise<string> => {
  const oidc = { issuer: provider.url, clientId, clientSecret: provider.clientSecret, ...more.oidc };
  const made = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: more.parent ?? world.organization,
    identityProvider: { name: "people", defaultRole: more.role ?? builtInRoleUid("viewer"), oidc },
  });
  return String(made.uid);
};

/** A browser with only cookies. */
export interface FakeBrowser {
  readonly cookies: Map<string, string>;
  /** Sends one request; redirects are not followed. */
  get(url: string | URL): Promise<BrowserAnswer>;
  /** The same with a form; `headers` simulate a page of another site. */
  post(url: string | URL, form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<BrowserAnswer>;
}

export interface BrowserAnswer {
  readonly status: number;
  readonly location: string;
  readonly text: string;
  readonly headers: Headers;
}

export const openBrowser = (): FakeBrowser => {
  const cookies = new Map<string, string>();
  const ask = async (
    url: string | URL,
    init: { method?: string; body?: URLSearchParams; headers?: Readonly<Record<string, string>> },
  ): Promise<BrowserAnswer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { accept: "text/html", ...(cookie ? { cookie } : {}), ...init.headers } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, location: response.headers.get("location") ?? "", text: await response.text(), headers: response.headers };
  };
  return {
    cookies,
    get: (url) => ask(url, {}),
    post: (url, form, headers = {}) => ask(url, { method: "POST", body: new URLSearchParams(form), headers }),
  };
};

export const clientAddress = "http://127.0.0.1:9/done?token=true&error=true";

export const signInUrl = (world: World, parameters: Readonly<Record<string, string>>): string =>
  `${world.url}/oauth?${new URLSearchParams({ exit: "redirect", redirect: clientAddress, ...parameters })}`;

/** Returns the callback URL to which the provider redirects. */
export const callbackUrl = (provider: FakeProvider, question: URL, code: string): URL => {
  const back = new URL(question.searchParams.get("redirect_uri") ?? "");
  back.search = new URLSearchParams({ code, state: question.searchParams.get("state") ?? "", iss: provider.url }).toString();
  return back;
};

const unescapeHtml = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Returns the form of the page shown before tokens go to a loopback port; undefined for other pages. */
export const loopbackForm = ({ text }: Pick<BrowserAnswer, "text">): Record<string, string> | undefined =>
  text.includes('action="/oauth/loopback"')
    ? Object.fromEntries(
        [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name = "", value = ""]) => [name, unescapeHtml(value)]),
      )
    : undefined;

/** Submits a button of that page. `location` is the target of its refresh; other responses are returned unchanged. */
export const answerLoopbackPage = async (
  world: Pick<World, "url">,
  browser: FakeBrowser,
  shown: BrowserAnswer,
  answer: "continue" | "cancel" = "continue",
): Promise<BrowserAnswer> => {
  const form = loopbackForm(shown);
  if (!form) return shown;
  const answered = await browser.post(`${world.url}/oauth/loopback`, { ...form, answer }, { origin: world.url });
  return { ...answered, location: (answered.headers.get("refresh") ?? "").replace(/^0;url=/, "") };
};

/** Runs a whole sign-in of this user, who continues on the last page. Returns what the client receives. */
export const signIn = async (
  world: World,
  provider: FakeProvider,
  idp: string,
  claims: Claims,
  parameters: Readonly<Record<string, string>> = {},
  browser = openBrowser(),
): Promise<{ readonly token: string; readonly refreshToken: string; readonly error: string; readonly status: string }> => {
  const begun = await browser.get(signInUrl(world, { idp_id: idp, ...parameters }));
  const question = URL.parse(begun.location);
  if (!question) throw new Error(`the sign-in did not begin: ${begun.status} ${begun.text}`);
  const ended =
    question.origin === new URL(clientAddress).origin
      ? begun
      : await answerLoopbackPage(world, browser, await browser.get(callbackUrl(provider, question, provider.vouch(question, claims))));
  const told = URL.parse(ended.location)?.searchParams;
  if (!told) throw new Error(`the sign-in did not end: ${ended.status} ${ended.text}`);
  return {
    token: told.get("token") ?? "",
    refreshToken: told.get("refresh_token") ?? "",
    error: told.get("error") ?? "",
    status: told.get("status_code") ?? "",
  };
};
