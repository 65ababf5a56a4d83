// Attacks 151 to 158: on the authorization code grant, its page, and what a client says of itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { allow, askForTokens, authorizeUrl, type ClientHost, codeForm, makeVerifier, openClientHost } from "../authorization.ts";
import { type FakeProvider, openProvider, registerProvider } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let host: ClientHost;
let idp: string;
let client: string;

before(async () => {
  world = await openWorld();
  [provider, host] = await Promise.all([openProvider(() => world.clock.now), openClientHost()]);
  idp = await registerProvider(world, provider);
  client = host.put("/client.json");
});
after(async () => {
  await world?.close();
  await provider?.close();
  await host?.close();
});

test("who allows it and signs in is given a token for the API by the client, with a refresh token where it was asked for", async () => {
  const { verifier, challenge } = makeVerifier();
  const told = await allow(world, provider, authorizeUrl(world, client, challenge, { idp_id: idp, scope: "offline_access" }));
  assert.deepEqual([told.get("iss"), told.get("state")], [world.url, "the state"]);
  const { status, body } = await askForTokens(world, codeForm(client, told.get("code") ?? "", verifier));
  assert.deepEqual([status, body.token_type, body.scope, typeof body.refresh_token], [200, "Bearer", "offline_access", "string"]);
  const token = text(body, "access_token");
  assert.equal(claimsOf(token).aud, world.url);
  await world.ok("iam.GroupsService/GetGroup", { uid: world.organization }, { token });
});
