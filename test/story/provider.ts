// A real OpenID provider in a process of its own (oidc-provider), with a page where people sign in. Whoever types a name
// is that person: "ada", or "ada+engineers+operators" for one whom the provider puts into these groups from then on.
// It says its address in its first line and ends with the standard input of whoever started it.
//
//   node test/story/provider.ts https://gantry.example.com/oauth/callback

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const [callback = ""] = process.argv.slice(2);
const server = createServer();
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const groupsOf = new Map<string, readonly string[]>();

const provider = new Provider(address, {
  clients: [{ client_id: "gantry", client_secret: "provider-client-secret", redirect_uris: [callback], response_types: ["code"], grant_types: ["authorization_code"] }],
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "provider-key-1" }] },
  cookies: { keys: ["provider-cookie-key"] },
  scopes: ["openid", "email", "profile", "groups"],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "given_name", "family_name"], groups: ["groups"] },
  // What is asked for stands in the ID token, as with most providers that organizations use.
  conformIdTokenClaims: false,
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.test`, email_verified: true, name: `${id} of Example`, given_name: id, groups: [...(groupsOf.get(id) ?? [])] }),
  }),
  // Nobody is asked twice: whoever signs in agrees.
  loadExistingGrant: async (context) => {
    const { client, session, provider: own } = context.oidc;
    const grant = new own.Grant({ clientId: client?.clientId, accountId: session?.accountId });
    grant.addOIDCScope("openid email profile groups");
    await grant.save();
    return grant;
  },
  interactions: { url: (_context, interaction) => `/sign-in/${interaction.uid}` },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
});

const form = `<!doctype html><html lang="en"><title>Example provider</title><h1>Example provider</h1>
<form method="post"><label>Name <input name="name" autofocus></label> <button name="answer" value="enter">Enter</button> <button name="answer" value="cancel">Cancel</button></form></html>`;

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

const signIn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.method !== "POST") {
    response.setHeader("content-type", "text/html").end(form);
    return;
  }
  const typed = new URLSearchParams(await textOf(request));
  const [accountId = "", ...groups] = (typed.get("name") ?? "").split("+");
  groupsOf.set(accountId, groups);
  const answer = typed.get("answer") === "cancel" ? { error: "access_denied", error_description: "cancelled" } : { login: { accountId } };
  await provider.interactionFinished(request, response, answer, { mergeWithLastSubmission: false });
};

const protocol = provider.callback();
server.on("request", (request: IncomingMessage, response: ServerResponse) => {
  if (!request.url?.startsWith("/sign-in/")) return protocol(request, response);
  return signIn(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});

process.stdout.write(`${address}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
