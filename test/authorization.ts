// Clients of the authorization code grant: a host of client documents, a user's browser, and token requests.

import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "#base/json.ts";
import { type BrowserAnswer, callbackUrl, type Claims, type FakeBrowser, type FakeProvider, openBrowser } from "./provider.ts";
import type { World } from "./world.ts";

export interface ClientHost {
  readonly url: string;
  /** Requested paths in order. */
  readonly asked: string[];
  readonly answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** Publishes a document, with overrides of a valid one. Returns its URL, which is the client ID. */
  put(path: string, document?: Readonly<Record<string, unknown>>): string;
  close(): Promise<void>;
}

/** The client's redirect URI, where nothing listens. */
export const clientRedirect = "http://127.0.0.1:9/answer";

export const openClientHost = async (): Promise<ClientHost> => {
  const asked: string[] = [];
  const answers: ClientHost["answers"] = new Map();
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const answer = answers.get(path);
    if (answer) answer(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    answers,
    put(path, document = {}) {
      const body = JSON.stringify({ client_id: `${url}${path}`, client_name: "A program", redirect_uris: [clientRedirect], ...document });
      answers.set(path, (_, response) => void response.setHeader("content-type", "application/json").end(body));
      return `${url}${path}`;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
};

export const makeVerifier = (): { readonly verifier: string; readonly challenge: string } => {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
};

export type Parameters = Readonly<Record<string, string | undefined>>;

/** Returns an authorization request; undefined omits a parameter. */
export const authorizeUrl = (world: World, client: string, challenge: string, more: Parameters = {}): URL => {
  const url = new URL(`${world.url}/oauth/authorize`);
  const all = {
    client_id: client,
    redirect_uri: clientRedirect,
    response_type: "code",
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "the state",
    ...more,
  };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value);
  return url;
};

const unescape = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export const hiddenFields = (html: string): Record<string, string> =>
  Object.fromEntries([...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = "", value = ""]) => [name, unescape(value)]));

/** Returns the target of a page's refresh. */
export const refreshOf = ({ headers }: Pick<BrowserAnswer, "headers">): string => (headers.get("refresh") ?? "").replace(/^0;url=/, "");

/** Submits the page with one of its buttons. */
export const answerPage = (
  world: World,
  browser: FakeBrowser,
  page: BrowserAnswer,
  answer: "confirm" | "refuse",
  more: Readonly<Record<string, string>> = {},
) => browser.post(`${world.url}/oauth/authorize`, { ...hiddenFields(page.text), answer, ...more }, { origin: world.url });

/** The user signs in and consents. Returns the query that the client receives. */
export const allow = async (
  world: World,
  provider: FakeProvider,
  url: URL,
  claims: Claims = { sub: "ada" },
  browser = openBrowser(),
): Promise<URLSearchParams> => {
  const page = await browser.get(url);
  const allowed = page.status === 200 ? await answerPage(world, browser, page, "confirm") : page;
  const question = URL.parse(refreshOf(allowed) || allowed.location);
  if (!question?.searchParams.has("nonce")) throw new Error(`the sign-in did not begin: ${allowed.status} ${allowed.text}`);
  const ended = await browser.get(callbackUrl(provider, question, provider.vouch(question, claims)));
  const told = URL.parse(ended.location)?.searchParams;
  if (!told) throw new Error(`the sign-in did not end: ${ended.status} ${ended.text}`);
  return told;
};

export const askForTokens = async (world: World, form: Parameters): Promise<{ readonly status: number; readonly body: JsonObject }> => {
  const given = Object.entries(form).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  const response = await fetch(`${world.url}/oauth/token`, { method: "POST", body: new URLSearchParams(given) });
  return { status: response.status, body: (await response.json()) as JsonObject };
};

/** Returns a token request for a code; undefined omits a parameter. */
export const codeForm = (client: string, code: string, verifier: string, more: Parameters = {}): Parameters => ({
  grant_type: "authorization_code",
  code,
  client_id: client,
  redirect_uri: clientRedirect,
  code_verifier: verifier,
  ...more,
});
