// Users provisioned by SCIM (decision 0053): they have permissions before a sign-in, lose everything on the next request on every server, and are the
// same users when they return.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { freshDatabase } from "../database.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { enableScim, makeOwners, type ScimProvider } from "../scim.ts";
import { confirmAs, poll, requestDeviceCodes } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let other: World;
let provider: FakeProvider;
let idp: ScimProvider;
let cleanUp: () => Promise<void>;

before(async () => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-scim-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key };
  world = await openWorld(shared);
  other = await openWorld({ ...shared, GANTRY_PUBLIC_URL: world.url });
  provider = await openProvider(() => world.clock.now);
  await makeOwners(world);
  idp = await enableScim(world, await registerProvider(world, provider));
  cleanUp = async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
});
after(async () => {
  await world?.close();
  await other?.close();
  await provider?.close();
  await cleanUp?.();
});

const personOf = (subject: string): string => world.server.application.services.authn.personUid(provider.url, subject);

const announce = async (externalId: string, at = idp): Promise<string> => {
  const { status, body } = await at.ask("POST", "/Users", { userName: `${externalId}@example.com`, externalId });
  assert.equal(status, 201, JSON.stringify(body));
  return text(body, "id");
};

const activate = async (id: string, active: boolean, at = idp): Promise<void> =>
  assert.equal((await at.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "active", value: active }] })).status, 200);

const seen = async (token: string): Promise<readonly number[]> => {
  const asked = [world, other].map((each) => each.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token }));
  return (await Promise.all(asked)).map(({ code }) => code);
};
const allowed = [0, 0];
const forbidden = [codes.PERMISSION_DENIED, codes.PERMISSION_DENIED];
const ended = [codes.UNAUTHENTICATED, codes.UNAUTHENTICATED];

const refresh = async (refreshToken: string): Promise<number> => {
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  return (await fetch(`${other.url}/oauth/token`, { method: "POST", body: form })).status;
};

const bind = async (identityUid: string, role: string, parent = world.organization): Promise<string> =>
  text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } }), "uid");

const bindingsOf = async (identity: string): Promise<JsonObject[]> =>
  objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity }), "roleBindings");

test("a provisioned user is bound before the first sign-in, and the organization sees only the data that it sent", async () => {
  await announce("early");
  const [binding, ...more] = await bindingsOf(personOf("early"));
  assert.equal(more.length, 0);
  assert.deepEqual(binding?.identity, { uid: personOf("early") });
  const { token, error } = await signIn(world, provider, idp.uid, { sub: "early" });
  assert.equal(error, "");
  assert.deepEqual(await seen(token), allowed);
  assert.equal((await bindingsOf(personOf("early"))).length, 1);
});

test("a default role removed from a provisioned user does not return with the first sign-in", async () => {
  await announce("demoted");
  const [binding] = await bindingsOf(personOf("demoted"));
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: text(binding ?? {}, "uid") });
  const { token } = await signIn(world, provider, idp.uid, { sub: "demoted" });
  assert.deepEqual(await seen(token), forbidden);
});

for (const way of ["active: false", "DELETE", "another externalId"]) {
  test(`${way} ends permissions, however granted, sessions and refresh tokens on the next request on every server`, async () => {
    const name = `leaver-${way.replace(/\W/g, "")}`;
    const id = await announce(name);
    const { token, refreshToken } = await signIn(world, provider, idp.uid, { sub: name }, { create_refresh_token: "true" });
    assert.notEqual(refreshToken, "");
    await bind(personOf(name), "editor");
    const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } }), "uid");
    await bind(personOf(name), "owner", team);
    const elsewhere = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `of others ${name}`.toLowerCase() } }), "uid");
    const kept = await bind(personOf(name), "viewer", elsewhere);
    assert.deepEqual(await seen(token), allowed);
    if (way === "DELETE") assert.equal((await idp.ask("DELETE", `/Users/${id}`)).status, 204);
    else if (way === "active: false") await activate(id, false);
    else await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "externalId", value: `${name}-2` }] });
    assert.deepEqual(await seen(token), ended);
    assert.deepEqual(
      (await bindingsOf(personOf(name))).map(({ uid }) => uid),
      [kept],
      "what another organization gave stays",
    );
    assert.equal(await refresh(refreshToken), 400);
    const again = await signIn(world, provider, idp.uid, { sub: name });
    assert.deepEqual([again.token, again.status], ["", "403"]);
    const events = (await world.events()).filter(({ type, actor }) => type.endsWith(".rolebindings.deleted.v1") && actor === idp.uid);
    assert.ok(events.length >= 3, "each binding is told");

    if (way === "DELETE") await announce(name);
    else if (way === "active: false") await activate(id, true);
    else await idp.ask("PATCH", `/Users/${id}`, { Operations: [{ op: "replace", path: "externalId", value: name }] });
    assert.deepEqual(await seen(token), ended, "a revoked session does not come back");
    assert.equal((await bindingsOf(personOf(name))).length, 2, "the same person has the default role again, and nothing else");
    const back = await signIn(world, provider, idp.uid, { sub: name });
    assert.deepEqual([back.error, await seen(back.token)], ["", allowed]);
  });
}

for (const way of ["a POST", "another externalId", "a PUT"]) {
  test(`attack 201: a user who signed in before SCIM loses everything when ${way} provisions them as inactive`, async () => {
    const name = `announced-inactive-${way.replace(/\W/g, "")}`.toLowerCase();
    const { token, refreshToken } = await signIn(world, provider, idp.uid, { sub: name }, { create_refresh_token: "true" });
    await bind(personOf(name), "editor");
    assert.deepEqual(await seen(token), allowed);
    const user = { userName: `${name}@example.com`, active: false };
    const made = await idp.ask("POST", "/Users", way === "a POST" ? { ...user, externalId: name } : user);
    const path = `/Users/${text(made.body, "id")}`;
    if (way === "a PUT") assert.equal((await idp.ask("PUT", path, { ...user, externalId: name })).status, 200);
    if (way === "another externalId") await idp.ask("PATCH", path, { Operations: [{ op: "add", path: "externalId", value: name }] });
    assert.deepEqual(await seen(token), ended);
    assert.deepEqual(await bindingsOf(personOf(name)), []);
    assert.equal(await refresh(refreshToken), 400);
    await activate(text(made.body, "id"), true);
    assert.equal((await bindingsOf(personOf(name))).length, 1);
  });
}

/** Locks a table against writes; returns its release. */
const holdTable = async (table: string): Promise<() => Promise<void>> => {
  const { store } = world.server.application.services;
  const [held, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = store.write(async (rows) => {
    await rows.query(`lock table ${table} in share mode`);
    held.resolve();
    await gate.promise;
  });
  await held.promise;
  return () => {
    gate.resolve();
    return holding;
  };
};

/** Resolves once that many statements of this text wait for a lock. */
const waiting = async (count: number, pattern: string): Promise<string> => {
  const { read } = world.server.application.services.store;
  for (;;) {
    const [found] = await read.query(
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1",
      [pattern],
    );
    if (Number(found?.[0]) >= count) return "waits";
  }
};

test("attack 222: a refresh during a provisioning as inactive returns no token and ends the refresh token", async () => {
  const at = await enableScim(world, await registerProvider(world, provider));
  const come = () => signIn(world, provider, at.uid, { sub: "refreshing" }, { create_refresh_token: "true" });
  await come();
  for (const { uid } of await bindingsOf(personOf("refreshing"))) await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: uid ?? "" });
  // Both are past their checks of each other and not yet committed.
  const release = await holdTable("outbox");
  const coming = come();
  await waiting(1, "%insert into outbox%");
  const announcing = at.ask("POST", "/Users", { userName: "refreshing", externalId: "refreshing", active: false });
  await waiting(2, "%insert into outbox%");
  await release();
  const { refreshToken } = await coming;
  const id = text((await announcing).body, "id");
  assert.notEqual(refreshToken, "");
  assert.equal(await refresh(refreshToken), 400);
  await activate(id, true, at);
  assert.equal(await refresh(refreshToken), 400, "what has ended does not come back");
});

for (const rule of ["CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID", "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID"]) {
  for (const way of ["a POST", "another externalId"]) {
    test(`attack 222: a user who is signing in while ${way} provisions them as inactive has nothing afterwards (${rule})`, async () => {
      const at = await enableScim(world, await registerProvider(world, provider, { oidc: { correlationRule: rule } }));
      const name = `hurrying-${way.length}-${rule.length}-${rule.charAt("CORRELATION_RULE_".length)}`.toLowerCase();
      const user = { userName: `${name}@example.com`, active: false };
      const path = way === "a POST" ? "" : `/Users/${text((await at.ask("POST", "/Users", user)).body, "id")}`;
      // Here a sign-in has checked SCIM and not yet committed.
      const release = await holdTable("memberships");
      const signingIn = signIn(world, provider, at.uid, { sub: name, oid: name }, { create_refresh_token: "true" });
      await waiting(1, "%into memberships%");
      const add = { Operations: [{ op: "add", path: "externalId", value: name }] };
      const announcing = path === "" ? at.ask("POST", "/Users", { ...user, externalId: name }) : at.ask("PATCH", path, add);
      await Promise.race([announcing, waiting(1, "%pg_advisory_xact_lock%")]);
      await release();
      const { token, refreshToken } = await signingIn;
      const { status, body } = await announcing;
      assert.deepEqual([status, body.active], [way === "a POST" ? 201 : 200, false]);
      assert.deepEqual(await bindingsOf(personOf(name)), []);
      const codesSeen = token === "" ? [] : await seen(token);
      // A token issued after the deactivation belongs to a valid session without permissions.
      if (token !== "")
        assert.ok(
          [forbidden, ended].some((codes) => isDeepStrictEqual(codesSeen, codes)),
          String(codesSeen),
        );
      if (refreshToken !== "") assert.equal(await refresh(refreshToken), 400);
    });
  }
}

test("attack 174: a device sign-in grants nothing if its user is deactivated while the terminal waits", async () => {
  const id = await announce("waiting");
  const waiting = await requestDeviceCodes(world, { idp_id: idp.uid });
  assert.match((await confirmAs(world, provider, waiting.page, { sub: "waiting" })).text, /Your terminal is signed in/);
  await activate(id, false);
  const { status, body } = await poll(world, waiting);
  assert.deepEqual([status, body.access_token], [400, undefined], JSON.stringify(body));
});

test("with SCIM off no user is refused, and a user unknown to SCIM can sign in", async () => {
  const id = await announce("switched");
  await activate(id, false);
  const set = async (enabled: boolean): Promise<void> => {
    const { scim } = await world.ok("iam.IdentityProvidersService/GetIdentityProvider", { uid: idp.uid });
    await world.ok("iam.IdentityProvidersService/SetScimEnabled", { identityProviderUid: idp.uid, enabled, etag: String((scim as JsonObject).etag) });
  };
  await set(false);
  assert.equal((await signIn(world, provider, idp.uid, { sub: "switched" })).error, "");
  await set(true);
  assert.notEqual((await signIn(world, provider, idp.uid, { sub: "switched" })).error, "");
  const { token } = await signIn(world, provider, idp.uid, { sub: "unannounced" });
  assert.deepEqual(await seen(token), allowed);
});

test("with the correlation rule oid, users are matched by that claim, even if they signed in before they were provisioned", async () => {
  const oidc = { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" };
  const byOid = await enableScim(world, await registerProvider(world, provider, { oidc }));
  const nameless = await signIn(world, provider, byOid.uid, { sub: "no-oid" });
  assert.equal(nameless.status, "403", "who has no oid is nobody that SCIM could know");

  const early = await announce("oid-early", byOid);
  assert.deepEqual(await bindingsOf(personOf("oid-early")), [], "whose it is nobody knows yet");
  const first = await signIn(world, provider, byOid.uid, { sub: "pairwise-1", oid: "oid-early" });
  assert.equal(first.error, "");
  assert.deepEqual(await seen(first.token), allowed);
  await activate(early, false, byOid);
  assert.deepEqual(await seen(first.token), ended);
  assert.equal((await signIn(world, provider, byOid.uid, { sub: "pairwise-1", oid: "oid-early" })).status, "403");

  const second = await signIn(world, provider, byOid.uid, { sub: "pairwise-2", oid: "oid-late" });
  assert.deepEqual(await seen(second.token), allowed);
  const late = await announce("oid-late", byOid);
  await activate(late, false, byOid);
  assert.deepEqual(await seen(second.token), ended);

  const inactive = await byOid.ask("POST", "/Users", { userName: "never@example.com", externalId: "oid-never", active: false });
  assert.equal(inactive.status, 201);
  assert.equal((await signIn(world, provider, byOid.uid, { sub: "pairwise-3", oid: "oid-never" })).status, "403");
});

test("attack 203: SCIM ends the access of a user who signs in as another subject with the same external ID", async () => {
  const oidc = { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" };
  const at = await enableScim(world, await registerProvider(world, provider, { oidc }));
  const id = await announce("oid-mover", at);
  const comeAs = (sub: string, oid = "oid-mover") => signIn(world, provider, at.uid, { sub, oid }, { create_refresh_token: "true" });
  const old = await comeAs("of the old client");
  assert.deepEqual(await seen(old.token), allowed);
  const gone = await announce("oid-gone", at);
  assert.equal((await at.ask("DELETE", `/Users/${gone}`)).status, 204);

  const back = await comeAs("of the new client");
  assert.equal(back.error, "");
  assert.deepEqual(await seen(back.token), allowed);
  assert.deepEqual(await seen(old.token), ended, "whom nobody at the directory is any more");
  assert.equal(await refresh(old.refreshToken), 400);
  assert.equal((await bindingsOf(personOf("of the new client"))).length, 1);
  assert.equal((await comeAs("gone, of the new client", "oid-gone")).status, "403", "who was removed comes back as nobody");

  await activate(id, false, at);
  assert.deepEqual(await seen(back.token), ended);
  assert.equal(await refresh(back.refreshToken), 400);
  assert.equal((await comeAs("of the new client")).status, "403");
  assert.equal((await comeAs("of a third one")).status, "403");
});

test("attack 203: with the correlation rule oid, a user deactivated by SCIM cannot assume an identity on a first sign-in", async () => {
  const oidc = { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" };
  const byOid = await enableScim(world, await registerProvider(world, provider, { oidc }));
  const { uid: assumable } = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "assumed", claimMatch: { issuer: provider.url, subject: "pairwise-4", audience: "gantry-client" } },
  });
  const as = { identity: String(assumable) };
  const id = text((await byOid.ask("POST", "/Users", { userName: "assuming@example.com", externalId: "oid-assuming", active: false })).body, "id");
  assert.equal((await signIn(world, provider, byOid.uid, { sub: "pairwise-4", oid: "oid-assuming" }, as)).status, "403");
  await activate(id, true, byOid);
  assert.equal((await signIn(world, provider, byOid.uid, { sub: "pairwise-4", oid: "oid-assuming" }, as)).error, "");
});

test("attack 207: a user deactivated by SCIM cannot return through a changed issuer, because a provider with SCIM users keeps its issuer", async () => {
  const own = await enableScim(world, await registerProvider(world, provider));
  const update = async (issuer: string) =>
    world.call("iam.IdentityProvidersService/UpdateIdentityProvider", {
      identityProvider: { uid: own.uid, oidc: { issuer, clientSecret: "its own" } },
      updateMask: "oidc.issuer,oidc.clientSecret",
    });
  assert.equal((await update("https://moved.example.com")).code, 0, "SCIM knows nobody yet");
  assert.equal((await update(provider.url)).code, 0);
  const id = await announce("moved", own);
  const isRefused = async (): Promise<void> => {
    const { code, message } = await update("https://moved.example.com");
    assert.deepEqual([code, /SCIM identifies users by this issuer/.test(message)], [codes.FAILED_PRECONDITION, true], message);
  };
  await isRefused();
  await activate(id, false, own);
  await isRefused();
  await own.ask("DELETE", `/Users/${id}`);
  await isRefused();
  assert.equal((await update(provider.url)).code, 0, "what stays as it is may be said");
});

test("attack 173: enabling SCIM requires two owners from outside the provider, and SCIM never removes the last of them", async () => {
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "alone" } }), "uid");
  const uid = await registerProvider(world, provider, { parent: organization });
  const insiders: string[] = [];
  for (const sub of ["insider-1", "insider-2"]) {
    await signIn(world, provider, uid, { sub });
    insiders.push(await bind(personOf(sub), "owner", organization));
  }
  await assert.rejects(enableScim(world, uid), /SCIM requires 2 identities that are owners .* not users of this identity provider/);
  await makeOwners(world, organization);
  const { scim } = await world.ok("iam.IdentityProvidersService/GetIdentityProvider", { uid });
  const { token, etag } = await world.ok("iam.IdentityProvidersService/RegenerateScimToken", {
    identityProviderUid: uid,
    etag: String((scim as JsonObject).etag),
  });
  await world.ok("iam.IdentityProvidersService/SetScimEnabled", { identityProviderUid: uid, enabled: true, etag: etag ?? "" });
  const ask = async (verb: string, path: string, body: JsonObject) =>
    fetch(`${world.url}/scim/v2/${uid}${path}`, {
      method: verb,
      headers: { authorization: `Bearer ${String(token)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const users: string[] = [];
  for (const sub of ["insider-1", "insider-2"])
    users.push(text((await (await ask("POST", "/Users", { userName: sub, externalId: sub })).json()) as JsonObject, "id"));
  const end = async (index: number) => ask("PATCH", `/Users/${users[index]}`, { Operations: [{ op: "replace", path: "active", value: false }] });
  assert.equal((await end(0)).status, 200, "owners from inside may be deactivated");
  const owners = objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { group: organization, role: builtInRoleUid("owner") }), "roleBindings");
  for (const each of owners.filter(({ uid: own }) => !insiders.includes(String(own))))
    await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: text(each, "uid") });
  const refused = await end(1);
  assert.equal(refused.status, 400);
  assert.match(text((await refused.json()) as JsonObject, "detail"), /left without an owner/);
  // SCIM can reach a provisioned user even before the first sign-in.
  await ask("POST", "/Users", { userName: "insider-3", externalId: "insider-3" });
  await bind(personOf("insider-3"), "owner", organization);
  assert.equal((await end(1)).status, 400, "an owner whom SCIM has announced is none from outside");
  assert.equal((await bindingsOf(personOf("insider-2"))).length, 2, "and nothing of it was done");
});
