// Sign-in of MCP clients without a token: discovery, the user's consent, and calls as the user. The official clients of both lines do everything
// except the consent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  Client as NewClient,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport as NewHttp,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { auth as oldAuth } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { claimsOf } from "../../server/authn/testing.ts";
import { allow, type ClientHost, clientRedirect, openClientHost } from "../authorization.ts";
import { callHttp } from "../client.ts";
import { type FakeProvider, openProvider, registerProvider } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let host: ClientHost;
let idp: string;
before(async () => {
  world = await openWorld();
  [provider, host] = await Promise.all([openProvider(() => world.clock.now), openClientHost()]);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
  await host?.close();
});

interface Person {
  readonly oauth: OAuthClientProvider;
  readonly code: () => string;
  readonly token: () => string;
}

/** Creates the client's store of credentials, and a user who consents in a browser. */
const person = (clientId: string): Person => {
  const held = { code: "", verifier: "", token: "" };
  let discovered: OAuthDiscoveryState | undefined;
  const oauth: OAuthClientProvider = {
    redirectUrl: clientRedirect,
    clientMetadata: { redirect_uris: [clientRedirect], client_name: "A program" },
    state: () => "the state",
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => (held.token === "" ? undefined : { access_token: held.token, token_type: "Bearer" }),
    saveTokens: ({ access_token: token }) => {
      held.token = token;
    },
    saveCodeVerifier: (verifier) => {
      held.verifier = verifier;
    },
    codeVerifier: () => held.verifier,
    saveDiscoveryState: (state) => {
      discovered = state;
    },
    discoveryState: () => discovered,
    redirectToAuthorization: async (url) => {
      url.searchParams.set("idp_id", idp);
      held.code = (await allow(world, provider, url)).get("code") ?? "";
    },
  };
  return { oauth, code: () => held.code, token: () => held.token };
};

for (const path of ["/mcp", "/mcp/iam/write"]) {
  test(`the official client signs a user in at ${path}, and its token is valid for MCP only`, async () => {
    const { oauth, code, token } = person(host.put("/client.json"));
    const url = new URL(`${world.url}${path}`);
    const options = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
    const transport = new NewHttp(url, { authProvider: oauth });
    await assert.rejects(new NewClient({ name: "t", version: "1" }, options).connect(transport), UnauthorizedError);
    await transport.finishAuth(new URLSearchParams({ code: code(), iss: world.url, state: "the state" }));
    const client = new NewClient({ name: "t", version: "1" }, options);
    await client.connect(new NewHttp(url, { authProvider: oauth }));
    const { structuredContent } = await client.callTool({ name: "iam_list_groups", arguments: {} });
    assert.ok(JSON.stringify(structuredContent).includes(world.organization));
    await client.close();
    assert.equal(claimsOf(token()).aud, `${world.url}/mcp`);
    assert.equal((await callHttp(world.url, "GET", "/iam/v2/groups", { token: token() })).status, 401);
  });
}

test("the client of the old line signs a user in too", async () => {
  const { oauth, code } = person(host.put("/older.json"));
  const url = new URL(`${world.url}/mcp`);
  // The old line's types are written for a looser compiler.
  const authProvider = oauth as NonNullable<ConstructorParameters<typeof OldHttp>[1]>["authProvider"] & object;
  assert.equal(await oldAuth(authProvider, { serverUrl: url }), "REDIRECT");
  assert.equal(await oldAuth(authProvider, { serverUrl: url, authorizationCode: code() }), "AUTHORIZED");
  const client = new OldClient({ name: "t", version: "1" });
  await client.connect(new OldHttp(url, { authProvider }) as Parameters<OldClient["connect"]>[0]);
  const { structuredContent } = await client.callTool({ name: "iam_list_groups", arguments: {} });
  assert.ok(JSON.stringify(structuredContent).includes(world.organization));
  await client.close();
});
