// Moving a sealed secret: by an edit that points it at the attacker's server (attack 64), or by a copy into the attacker's row with database
// access but no key (attack 65).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { newRoot } from "#base/uid.ts";
import { allow, authorizeUrl, makeVerifier } from "../authorization.ts";
import { asOwner } from "../database.ts";
import { symbolsOf } from "../conformance/stage.ts";
import { callbackUrl, type FakeProvider, openBrowser, openProvider, registerProvider, signIn, signInUrl } from "../provider.ts";
import { openWorld, type World } from "../world.ts";

const service = "iam.IdentityProvidersService";
const subject = { sub: "ann", email: "ann@example.com", email_verified: true };

let world: World;
let ours: FakeProvider;
let theirs: FakeProvider;
/** Requests that the attacker's token endpoint received. */
const sent: string[] = [];

before(async () => {
  world = await openWorld();
  ours = await openProvider(() => world.clock.now);
  theirs = await openProvider(() => world.clock.now);
  theirs.instead = (request) => {
    if (request.url === "/token") sent.push(request.headers.authorization ?? "");
    return false;
  };
});
after(() => Promise.all([world?.close(), ours?.close(), theirs?.close()]));

const signsIn = async (provider: FakeProvider, idp: string): Promise<boolean> =>
  signIn(world, provider, idp, subject).then(
    ({ token }) => token !== "",
    () => false,
  );

/** Returns a token of an identity that can change the organization's providers. */
const delegate = async (): Promise<string> => {
  const { organization } = world;
  const capabilities = symbolsOf(["identity_providers.update", "identity_providers.list", "groups.list", "roles.list", "role_bindings.create"]);
  const role = await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: `editor-${newRoot().slice(0, 8)}`, capabilities } });
  const claimMatch = { issuer: "https://ci.example.com", subject: newRoot() };
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity: { name: "editor", claimMatch } });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: uid ?? "", roleUid: role.uid ?? "" } });
  return world.token(String(uid));
};

test("attack 64: an editor of a provider cannot send its client secret to their own token endpoint, by any mask", async () => {
  const role = await world.ok("iam.RolesService/CreateRole", {
    parent: world.organization,
    role: { name: "nothing much", capabilities: symbolsOf(["groups.list"]) },
  });
  const uid = await registerProvider(world, ours, { role: text(role, "uid") });
  assert.ok(await signsIn(ours, uid));
  const token = await delegate();
  const held = part(await world.ok(`${service}/GetIdentityProvider`, { uid }), "oidc");
  for (const protocol of ["rest", "grpc"] as const) {
    for (const updateMask of ["oidc.issuer", "oidc", "*", "oidc.issuer,oidc.client_id", undefined]) {
      const oidc: JsonObject = { ...held, issuer: theirs.url };
      const request = { identityProvider: { uid, name: "people", defaultRole: role.uid ?? "", oidc }, ...(updateMask === undefined ? {} : { updateMask }) };
      const answer = await world.call(`${service}/UpdateIdentityProvider`, request, { token, protocol });
      assert.equal(answer.code, codes.INVALID_ARGUMENT, `${protocol} ${updateMask}: ${answer.message}`);
      assert.match(answer.message, /oidc\.clientSecret/);
    }
  }
  assert.equal(await signsIn(theirs, uid), false);
  // With a new secret it is allowed: only that one is sent.
  const moved = { identityProvider: { uid, oidc: { issuer: theirs.url, clientSecret: theirs.clientSecret } }, updateMask: "oidc.issuer,oidc.client_secret" };
  assert.equal((await world.call(`${service}/UpdateIdentityProvider`, moved, { token })).code, 0);
  assert.ok(await signsIn(theirs, uid));
  assert.ok(sent.length > 0);
  for (const header of sent)
    assert.ok(
      !Buffer.from(header.split(" ")[1] ?? "", "base64")
        .toString("utf8")
        .includes(ours.clientSecret),
    );
});

test("attack 65: a client secret copied to another row, or with a changed issuer or client, is never sent", async () => {
  const uid = await registerProvider(world, ours);
  const stranger = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "strangers" } }), "uid");
  const other = await registerProvider(world, theirs, { parent: stranger });
  sent.length = 0;
  const set = (row: string, column: string, value: string): Promise<unknown> =>
    asOwner(world.databaseUrl, `begin; set local gantry.untold = 'on'; update identity_providers set ${column} = ${value} where uid = '${row}'; commit`);
  const [[secret, oidc] = []] = await asOwner(world.databaseUrl, "select client_secret_sealed, oidc from identity_providers where uid = $1", [uid]);
  const [[theirSecret] = []] = await asOwner(world.databaseUrl, "select client_secret_sealed from identity_providers where uid = $1", [other]);
  await set(other, "client_secret_sealed", `'${secret}'`);
  assert.equal(await signsIn(theirs, other), false, "into a row of theirs");
  await set(other, "client_secret_sealed", `'${theirSecret}'`);
  assert.ok(await signsIn(theirs, other));
  sent.length = 0;
  for (const [path, value] of [
    ["{issuer}", theirs.url],
    ["{clientId}", "another"],
  ]) {
    ours.requestedPaths.length = 0;
    await set(uid, "oidc", `jsonb_set(oidc, '${path}', '"${value}"')`);
    assert.equal(await signsIn(path === "{issuer}" ? theirs : ours, uid), false, path);
    assert.ok(!ours.requestedPaths.includes("/token"));
    await set(uid, "oidc", `'${oidc}'`);
  }
  assert.deepEqual(sent, []);
  assert.ok(await signsIn(ours, uid));
});

test("attack 65: a sign-in's sealed request does not open in another sign-in's row, nor for another provider", async () => {
  const uid = await registerProvider(world, ours);
  const second = await registerProvider(world, ours);
  const begin = async () => {
    const browser = openBrowser();
    const question = new URL((await browser.get(signInUrl(world, { idp_id: uid }))).location);
    return { browser, question, finish: () => browser.get(callbackUrl(ours, question, ours.vouch(question, subject))) };
  };
  await asOwner(world.databaseUrl, "delete from sign_ins");
  const [one, other, third] = [await begin(), await begin(), await begin()];
  const rows = await asOwner(world.databaseUrl, "select state_hash, sealed from sign_ins order by expire_time, state_hash");
  assert.equal(rows.length, 3);
  await asOwner(world.databaseUrl, "update sign_ins set sealed = $2 where state_hash <> $1", [rows[0]?.[0] ?? "", rows[0]?.[1] ?? ""]);
  const ended = [await one.finish(), await other.finish(), await third.finish()].map(({ status }) => status);
  assert.deepEqual(ended.sort(), [200, 400, 400]);
  const moved = await begin();
  await asOwner(world.databaseUrl, "update sign_ins set identity_provider_uid = $1", [second]);
  assert.equal((await moved.finish()).status, 400);
  await asOwner(world.databaseUrl, "delete from sign_ins");
});

/** The binding of each sealed column; a new column must be added here. */
const bindings: Readonly<Record<string, { readonly purpose: string; readonly boundTo: string }>> = {
  "authorization_codes.sealed": { purpose: "authorization code", boundTo: "array[code_hash]" },
  "document_signing_keys.private_key_sealed": { purpose: "document-signing-key", boundTo: "array[fingerprint]" },
  "identity_providers.client_secret_sealed": { purpose: "client secret", boundTo: "array[uid, oidc ->> 'issuer', oidc ->> 'clientId']" },
  "signing_keys.private_jwk_sealed": { purpose: "signing-key", boundTo: "array[kid]" },
  "subscriptions.secret_sealed": { purpose: "subscription secret", boundTo: "array[uid]" },
  "subscriptions.previous_secret_sealed": { purpose: "subscription secret", boundTo: "array[uid]" },
  "sign_ins.sealed": { purpose: "sign in", boundTo: "array[state_hash, identity_provider_uid]" },
};

/** Columns whose texts contain their own purpose (attack 32) or their restore's ID (attack 185). */
const boundWithin = ["audit_chains.sealed", "audit_progress.sealed", "restores.sealed"];

test("attack 65: every sealed text of every table opens in its own row only", async () => {
  const { seal } = world.server.application.services;
  await registerProvider(world, ours);
  await registerProvider(world, theirs);
  for (const sink of ["https://one.example.com/", "https://other.example.com/"]) {
    const { uid } = await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink } });
    await world.ok("gantry.events.v1.DeliveriesService/RotateSubscriptionSecret", { subscriptionUid: uid ?? "" });
  }
  await world.server.application.services.authn.rotate();
  for (let count = 0; count < 2; count++) {
    await asOwner(world.databaseUrl, "update document_signing_keys set retire_time = now()");
    assert.equal((await fetch(`${world.url}/.well-known/csaf/provider-metadata.json`)).status, 200);
  }
  const idp = await registerProvider(world, ours);
  for (let count = 0; count < 2; count++) await openBrowser().get(signInUrl(world, { idp_id: idp }));
  for (let count = 0; count < 2; count++) {
    const own = { redirect_uri: `${world.url}/docs/signed-in`, idp_id: idp };
    assert.ok((await allow(world, ours, authorizeUrl(world, `${world.url}/docs`, makeVerifier().challenge, own), subject)).has("code"));
  }
  const columns = await asOwner(
    world.databaseUrl,
    "select table_name || '.' || column_name from information_schema.columns where table_schema = current_schema() and column_name like '%sealed' order by 1",
  );
  assert.deepEqual(columns.map(([name]) => name).sort(), [...Object.keys(bindings), ...boundWithin].sort());
  for (const [name, { purpose, boundTo }] of Object.entries(bindings)) {
    const [table, column] = name.split(".");
    const rows = await asOwner(world.databaseUrl, `select ${column}, to_json(${boundTo}) from ${table} where ${column} <> ''`);
    assert.ok(rows.length >= 2, `${name} has ${rows.length} texts`);
    const texts = rows.map(([sealed, bound]) => ({ sealed: sealed ?? "", boundTo: JSON.parse(bound ?? "") as string[] }));
    for (const one of texts) for (const other of texts) assert.equal(seal.open(purpose, one.sealed, other.boundTo) !== undefined, one === other, name);
  }
});
