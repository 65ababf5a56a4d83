// Variants for signin-neighbour: the time of a complete sign-in of one tenant, alone and while five identity providers of another
// tenant leave 80 callbacks without a token response.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SignJWT } from "jose";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { makeOrganization } from "./callers.ts";
import type { Environment, Measure, Variant } from "./environment.ts";
import { median } from "./median.ts";

const clientId = "bench";
const silentProviders = 5;
const callbacksEach = 16;
const signIns = 15;
/** Time for the callbacks to reach the silent providers. */
const rampMs = 500;

interface Provider {
  readonly url: string;
  /** The nonce of each sign-in's code. */
  readonly nonces: Map<string, string>;
  readonly server: Server;
}

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

const answerAsProvider = async ({ url, nonces }: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const send = (body: unknown): void => void response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  switch (request.url) {
    case "/.well-known/openid-configuration":
      return send({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        id_token_signing_alg_values_supported: ["ES256"],
      });
    case "/keys":
      return send({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256" }] });
    default: {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const nonce = nonces.get(new URLSearchParams(Buffer.concat(chunks).toString()).get("code") ?? "") ?? "";
      const token = new SignJWT({ nonce }).setProtectedHeader({ alg: "ES256", kid: "one" }).setIssuer(url).setSubject("user").setAudience(clientId);
      send({ access_token: "bench", token_type: "Bearer", id_token: await token.setIssuedAt().setExpirationTime("10m").sign(privateKey) });
    }
  }
};

const openProvider = async (isSilent: boolean): Promise<Provider> => {
  const server = createServer((request, response) => {
    if (!(isSilent && request.url === "/token")) void answerAsProvider(provider, request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const provider: Provider = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, nonces: new Map(), server };
  return provider;
};

interface Tenants {
  readonly url: string;
  readonly quiet: { readonly provider: Provider; readonly idp: string };
  readonly silent: readonly { readonly provider: Provider; readonly idp: string }[];
}

const prepareTenants = async (environment: Environment): Promise<Tenants> => {
  const { application, process } = await environment.delivering();
  const register = async (parent: string, isSilent: boolean): Promise<Tenants["quiet"]> => {
    const provider = await openProvider(isSilent);
    const oidc = { issuer: provider.url, clientId, pkceEnabled: true };
    const identityProvider = { name: "people", defaultRole: builtInRoleUid("viewer"), oidc };
    const made = await application.call("chainguard.platform.iam.v2.IdentityProvidersService/CreateIdentityProvider", { parent, identityProvider });
    return { provider, idp: text(made, "uid") };
  };
  const [quiet, silent] = [await makeOrganization(application, "quiet sign-ins"), await makeOrganization(application, "silent sign-ins")];
  return {
    url: process.url,
    quiet: await register(quiet, false),
    silent: await Promise.all(Array.from({ length: silentProviders }, () => register(silent, true))),
  };
};

let prepared: Promise<Tenants> | undefined;

const cookieOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(";")[0] ?? "")
    .filter((pair) => !pair.endsWith("="))
    .join("; ");

const begin = async (url: string, { provider, idp }: Tenants["quiet"]): Promise<() => Promise<Response>> => {
  const begun = await fetch(`${url}/oauth?${new URLSearchParams({ idp_id: idp, redirect: "http://127.0.0.1:9/callback" })}`, { redirect: "manual" });
  const question = URL.parse(begun.headers.get("location") ?? "");
  if (!question) throw new Error(`a sign-in does not begin: ${begun.status}`);
  const code = randomBytes(16).toString("hex");
  provider.nonces.set(code, question.searchParams.get("nonce") ?? "");
  const back = new URL(question.searchParams.get("redirect_uri") ?? "");
  back.search = new URLSearchParams({ code, state: question.searchParams.get("state") ?? "" }).toString();
  return () => fetch(back, { redirect: "manual", headers: { cookie: cookieOf(begun) } });
};

/** Runs a complete sign-in, up to the tokens at the loopback address. Returns its time in milliseconds. */
const timeSignIn = async ({ url, quiet }: Tenants): Promise<number> => {
  const beganMs = performance.now();
  const shown = await (await begin(url, quiet))();
  const body = new URLSearchParams({ answer: "continue" });
  for (const [, name = "", value = ""] of (await shown.text()).matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) body.set(name, value);
  const ended = await fetch(`${url}/oauth/loopback`, { method: "POST", body, headers: { cookie: cookieOf(shown), origin: url } });
  if (!(ended.headers.get("refresh") ?? "").includes("token=ey")) throw new Error(`a sign-in does not end: ${ended.status} ${await ended.text()}`);
  return performance.now() - beganMs;
};

const signInVariant = (isBeside: boolean): Variant => ({
  label: `a sign-in, ${isBeside ? "beside another tenant's silent providers" : "alone"}`,
  unit: "ms",
  async prepare(environment): Promise<Measure> {
    const tenants = await (prepared ??= prepareTenants(environment));
    return async () => {
      const callbacks: (() => Promise<Response>)[] = [];
      if (isBeside) for (const each of tenants.silent) for (let count = 0; count < callbacksEach; count++) callbacks.push(await begin(tenants.url, each));
      const hanging = callbacks.map((callback) => callback().catch(() => undefined));
      if (isBeside) await sleep(rampMs);
      const taken: number[] = [];
      for (let count = 0; count < signIns; count++) taken.push(await timeSignIn(tenants));
      for (const { provider } of isBeside ? tenants.silent : []) provider.server.closeAllConnections();
      await Promise.all(hanging);
      return median(taken);
    };
  },
});

export const signInVariants: Readonly<Record<string, Variant>> = { signInAlone: signInVariant(false), signInBeside: signInVariant(true) };
