// A real OIDC provider in its own process (the package oidc-provider): users sign in on its pages with a name and any password. Prints its address as
// its first line and exits when its standard input closes.
// node test/story/provider.ts CALLBACKS CLIENT-SECRET
// CALLBACKS is the server's callback address without a provider's UID; every address below it is registered.
// PUT /people sets the users: {"ada": {"email": "…", "groups": ["…"]}}. Claims of the scopes `profile` and `email` are in the ID token, those of
// `groups` at the userinfo endpoint only.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

// Its clock is fixed, like that of a test's server: in a slow test, tokens of the real time would be in the server's future (clockSkewMs).
const startedMs = Date.now();
Date.now = () => startedMs;

const [redirectUri = "", secret = ""] = process.argv.slice(2);
let people: Record<string, Record<string, string[] | string | boolean>> = {};

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

const start = (address: string): Provider => {
  const provider = new Provider(address, {
    clients: [{ client_id: "gantry", client_secret: secret, redirect_uris: [redirectUri], grant_types: ["authorization_code"], response_types: ["code"] }],
    cookies: { keys: ["only for this test"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    scopes: ["openid", "email", "profile", "groups"],
    pkce: { required: () => true },
    findAccount: (_, id) => {
      const person = people[id];
      return person && { accountId: id, claims: () => ({ sub: id, ...person }) };
    },
  });
  // Callback addresses contain UIDs of identity providers that are created after this client.
  provider.Client.prototype.redirectUriAllowed = (uri: string): boolean => uri.startsWith(`${redirectUri}/`);
  return provider;
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const callback = start(address).callback();
  server.on("request", async (request, response) => {
    if (request.url !== "/people") return void callback(request, response);
    people = JSON.parse(await textOf(request)) as typeof people;
    response.end();
  });
  process.stdout.write(`${address}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
