// Sign-ins in the audit log: every sign-in has an entry where it grants permissions, and no token is issued without its entry.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { operatorUid } from "#base/operator.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { record } from "#outbox";
import { registerPerson } from "../../server/application/person.ts";
import { setSuspended } from "../../server/application/organization.ts";
import { mintToken } from "../../server/application/token.ts";
import { entriesOf, tamper, verifyLogs } from "../audit.ts";
import type { Answer } from "../client.ts";
import { ownerUrlOf } from "../database.ts";
import { signInWithInvite } from "../invite-page.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { requestDeviceCodes, confirmAs, poll, postForm } from "../terminal.ts";
import { bind, createIdentity, openInstallation, type Installation } from "./installation.ts";
import { gantry, type Issuer, startIssuer, stopAll } from "./processes.ts";
import type { World } from "../world.ts";

const exchangeName = "chainguard.platform.oidc.SecurityTokenService/Exchange";
const refreshName = "chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken";

let installation: Installation;
let world: World;
let issuer: Issuer;
let provider: FakeProvider;
let idp: string;
let other: string;
let watcher: string;
let otherWatcher: string;

before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  world = installation.world;
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
  other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "the other organization" } }), "uid");
  const watch = async (group: string): Promise<string> => {
    const identity = await createIdentity(world, group, "watcher", { issuer: issuer.url, subject: `watcher of ${group}` });
    await bind(world, group, identity, "viewer");
    return world.token(identity);
  };
  [watcher, otherWatcher] = [await watch(world.organization), await watch(other)];
});
after(async () => {
  await Promise.all([installation?.close(), provider?.close(), issuer?.close()]);
  await stopAll();
});

const signedIn = "dev.gantry.auth.signed_in.v1";

/** Lists entries of the identity's sign-ins that a token can read; without a token, all. */
const signIns = async (identity: string, token?: string): Promise<JsonObject[]> =>
  (await entriesOf(world, { subjects: [identity] }, token)).filter(({ type, code }) => type === signedIn && code === "OK");

const placeOf = ({ uid }: JsonObject): string => String(uid).slice(0, -17);

const formOf = (subject: string, identity?: string): Record<string, string> => ({
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token: subject,
  ...(identity === undefined ? {} : { identity }),
});

/** The protocols that exchange an external token; each returns the token and the protocol's name in the log. */
const protocols: Readonly<
  Record<
    string,
    { readonly operation: string; readonly ask: (token: string, identity?: string) => Promise<{ readonly given: string; readonly requestId: string }> }
  >
> = {
  "/sts/exchange over REST": { operation: exchangeName, ask: (token, identity) => ask("rest", token, identity) },
  "/sts/exchange over gRPC": { operation: exchangeName, ask: (token, identity) => ask("grpc", token, identity) },
  "/oauth/token": {
    operation: "/oauth/token",
    async ask(token, identity) {
      const response = await fetch(`${world.url}/oauth/token`, { method: "POST", body: new URLSearchParams(formOf(token, identity)) });
      return { given: text((await response.json()) as JsonObject, "access_token"), requestId: response.headers.get("x-request-id") ?? "" };
    },
  },
};

const ask = async (protocol: "rest" | "grpc", token: string, identity?: string): Promise<{ readonly given: string; readonly requestId: string }> => {
  const { reply, headers } = await world.call(exchangeName, identity === undefined ? {} : { identity }, { token, protocol });
  return { given: text(reply, "token"), requestId: headers["x-request-id"] ?? "" };
};

let people = 0;
const newPerson = async (): Promise<{ readonly uid: string; readonly subject: string }> => {
  const subject = `person ${++people}`;
  return { subject, uid: await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject, email: `p${people}@example.com`, name: "" }) };
};

for (const [title, { operation, ask: exchange }] of Object.entries(protocols)) {
  test(`a sign-in of an assumable identity by ${title} has an entry in its group, with bindings and claims`, async () => {
    const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "of the job" } }), "uid");
    const subject = `job by ${title}`;
    const identity = await createIdentity(world, group, "job", { issuer: issuer.url, subject });
    const binding = await bind(world, group, identity, "viewer");
    const { given, requestId } = await exchange(await issuer.token({ sub: subject, aud: world.url, email: "job@example.com", email_verified: true }), identity);
    assert.equal(claimsOf(given).sub, identity);
    const [entry, ...more] = await signIns(identity);
    assert.equal(more.length, 0);
    assert.ok(entry);
    assert.deepEqual(
      [placeOf(entry), entry.callerUid, entry.operation, entry.bindingUids, entry.remoteAddress],
      [group, identity, operation, [binding], "127.0.0.1"],
    );
    assert.deepEqual(entry.act, { iss: issuer.url, sub: subject, aud: world.url, email: "job@example.com" });
    assert.equal(entry.requestId, requestId);
    assert.notEqual(requestId, "");
  });

  test(`a sign-in by ${title} of a member of two organizations has an entry in each, with that organization's bindings only`, async () => {
    const { uid, subject } = await newPerson();
    const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: other, group: { name: "below" } }), "uid");
    const here = await bind(world, world.organization, uid, "viewer");
    const there = [await bind(world, other, uid, "viewer"), await bind(world, below, uid, "editor")].sort();
    const { given } = await exchange(await issuer.token({ sub: subject, aud: world.url }));
    assert.equal(claimsOf(given).sub, uid);
    const all = await signIns(uid);
    assert.deepEqual(
      all.map((entry) => [placeOf(entry), entry.bindingUids]).sort(),
      [
        [world.organization, [here]],
        [other, there],
      ].sort(),
    );
    assert.deepEqual((await signIns(uid, watcher)).map(placeOf), [world.organization]);
    assert.deepEqual((await signIns(uid, otherWatcher)).map(placeOf), [other]);
  });

  test(`a sign-in by ${title} without any permissions has an entry for the operator only`, async () => {
    const { uid, subject } = await newPerson();
    assert.notEqual((await exchange(await issuer.token({ sub: subject, aud: world.url }))).given, "");
    const [entry, ...more] = await signIns(uid);
    assert.deepEqual([entry && placeOf(entry), entry?.bindingUids, more.length], [uid, undefined, 0]);
    for (const token of [watcher, otherWatcher]) assert.deepEqual(await signIns(uid, token), []);
  });

  test(`a token refused by ${title} has an entry for the operator only`, async () => {
    const identity = await createIdentity(world, world.organization, "closed", { issuer: issuer.url, subject: "somebody else" });
    const { given, requestId } = await exchange(await issuer.token({ sub: "nobody", aud: world.url }), identity);
    assert.equal(given, "");
    assert.notEqual(requestId, "");
    const told = (await entriesOf(world, { operations: [operation] })).filter((entry) => entry.requestId === requestId);
    assert.deepEqual(
      told.map((entry) => [placeOf(entry), entry.callerUid, entry.code === "OK"]),
      [[operatorUid, undefined, false]],
    );
    assert.ok((await entriesOf(world, { operations: [operation] }, watcher)).every(({ code }) => code === "OK"));
  });
}

test("an entry of a sign-in omits expired bindings", async () => {
  const { uid, subject } = await newPerson();
  const roleUid = builtInRoleUid("viewer");
  const expireTime = new Date(world.clock.now + 60_000).toISOString();
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: other, roleBinding: { identityUid: uid, roleUid, expireTime } });
  const kept = await bind(world, world.organization, uid, "viewer");
  world.clock.now += 60_000;
  await ask("rest", await issuer.token({ sub: subject, aud: world.url, exp: Math.floor(world.clock.now / 1000) + 600 }));
  assert.deepEqual(
    (await signIns(uid)).map((entry) => [placeOf(entry), entry.bindingUids]),
    [[world.organization, [kept]]],
  );
});

// ---- browsers, terminals, refresh tokens ------------------------------------------------------------------------

const personUid = (sub: string): string => world.server.application.services.authn.personUid(provider.url, sub);

test("a browser sign-in has an entry in the organization of the provider, with the provider's claims", async () => {
  const { token } = await signIn(world, provider, idp, { sub: "ada", email: "ada@example.com", email_verified: true });
  const uid = personUid("ada");
  assert.equal(claimsOf(token).sub, uid);
  const [entry, ...more] = await signIns(uid);
  assert.ok(entry);
  assert.deepEqual([placeOf(entry), entry.callerUid, entry.operation, more.length], [world.organization, uid, "/oauth/callback", 0]);
  assert.deepEqual(entry.act, { iss: provider.url, sub: "ada", aud: "gantry-client", email: "ada@example.com" });
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { pageSize: 200 });
  const [binding] = (roleBindings as JsonObject[]).filter((each) => text(part(each, "identity"), "uid") === uid);
  assert.deepEqual(entry.bindingUids, [binding?.uid]);
});

test("a sign-in with permissions from a provider's groups names the role mappings", async () => {
  const mapping = text(
    await world.ok("iam.ExternalGroupRoleMappingsService/CreateExternalGroupRoleMapping", {
      parent: idp,
      externalGroupRoleMapping: { externalGroupId: "engines", roleUid: builtInRoleUid("editor"), scope: world.organization },
    }),
    "uid",
  );
  await world.ok("iam.IdentityProvidersService/UpdateIdentityProvider", {
    identityProvider: { uid: idp, oidc: { groupsClaim: "groups" } },
    updateMask: "oidc.groups_claim",
  });
  await signIn(world, provider, idp, { sub: "charles", groups: ["engines"] });
  const [entry] = await signIns(personUid("charles"));
  assert.ok((entry?.bindingUids as string[] | undefined)?.includes(mapping), JSON.stringify(entry));
  await world.ok("iam.ExternalGroupRoleMappingsService/DeleteExternalGroupRoleMapping", { uid: mapping });
});

test("a device sign-in has one entry, when tokens are issued or the user confirms", async () => {
  const device = await requestDeviceCodes(world, { idp_id: idp });
  await confirmAs(world, provider, device.page, { sub: "grace" });
  assert.equal((await poll(world, device)).status, 200);
  const told = await signIns(personUid("grace"));
  assert.deepEqual(
    told.map((entry) => [placeOf(entry), entry.operation]),
    [[world.organization, "/oauth/callback"]],
  );
});

const headlessAddress = (): string => {
  const code = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }).x ?? "";
  return `${world.url}/oauth?${new URLSearchParams({ headless_code: code, idp_id: idp })}`;
};

test("a headless client's sign-in has one entry", async () => {
  assert.match((await confirmAs(world, provider, headlessAddress(), { sub: "hedy" })).text, /is signed in/);
  assert.deepEqual(
    (await signIns(personUid("hedy"))).map((entry) => [placeOf(entry), entry.operation]),
    [[world.organization, "/oauth/callback"]],
  );
});

const arrive = async (sub: string): Promise<string> => (await signIn(world, provider, idp, { sub }, { create_refresh_token: "true" })).refreshToken;

const renewals: Readonly<
  Record<string, { readonly operation: string; readonly renew: (token: string) => Promise<{ readonly given: string; readonly next: string }> }>
> = {
  ...Object.fromEntries(
    (["rest", "grpc"] as const).map((protocol) => [
      `ExchangeRefreshToken over ${protocol}`,
      {
        operation: refreshName,
        async renew(token: string) {
          const { reply }: Answer = await world.call(refreshName, {}, { token, protocol });
          return { given: text(part(reply, "token"), "token"), next: text(part(reply, "refreshToken"), "token") };
        },
      },
    ]),
  ),
  "/oauth/token": {
    operation: "/oauth/token",
    async renew(token: string) {
      const { body } = await postForm(`${world.url}/oauth/token`, { grant_type: "refresh_token", refresh_token: token });
      return { given: text(body, "access_token"), next: text(body, "refresh_token") };
    },
  },
};

for (const [title, { operation, renew }] of Object.entries(renewals)) {
  test(`each refresh by ${title} has an entry, and a reused refresh token has a refused entry for the operator`, async () => {
    const sub = `staying by ${title}`;
    const first = await arrive(sub);
    const { given, next } = await renew(first);
    assert.equal(claimsOf(given).sub, personUid(sub));
    assert.notEqual((await renew(next)).given, "");
    const told = await signIns(personUid(sub));
    assert.deepEqual(
      told.map((entry) => [placeOf(entry), entry.operation]),
      [
        [world.organization, "/oauth/callback"],
        [world.organization, operation],
        [world.organization, operation],
      ],
    );
    assert.deepEqual(told[1]?.act, { iss: provider.url, sub, aud: "gantry-client" });
    const refusals = async (): Promise<JsonObject[]> =>
      (await entriesOf(world, { operations: [operation], uidp: { childrenOf: operatorUid } })).filter(({ code }) => code !== "OK");
    const before = (await refusals()).length;
    assert.equal((await renew(first)).given, "");
    assert.equal((await refusals()).length, before + 1);
  });
}

test("the provider's organization has an entry for each sign-in and refresh, even if nothing grants permissions there", async () => {
  const refreshToken = await arrive("without rights");
  const uid = personUid("without rights");
  const { roleBindings } = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uid });
  for (const binding of roleBindings as JsonObject[]) await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: String(binding.uid) });
  await world.call(refreshName, {}, { token: refreshToken });
  await signIn(world, provider, idp, { sub: "without rights" });
  const told = await signIns(uid, watcher);
  assert.deepEqual(
    told.map((entry) => [placeOf(entry), entry.operation, (entry.bindingUids as string[] | undefined)?.length, text(part(entry, "act"), "sub")]),
    [
      [world.organization, "/oauth/callback", 1, "without rights"],
      [world.organization, refreshName, undefined, "without rights"],
      [world.organization, "/oauth/callback", undefined, "without rights"],
    ],
  );
});

test("an invite to another organization does not hide a sign-in from the provider's organization", async () => {
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "86400s" };
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: other, groupInvite });
  await signInWithInvite(world, provider, idp, { sub: "invited elsewhere" }, String(code));
  assert.deepEqual((await signIns(personUid("invited elsewhere"))).map(placeOf).sort(), [world.organization, other].sort());
});

test("a sign-in event of the previous version, for one organization, becomes an entry there", async () => {
  const { store, publicUrl, clock } = world.server.application.services;
  const uid = personUid("of the version before");
  await store.write((rows) =>
    record(rows, {
      type: signedIn,
      source: publicUrl,
      subject: uid,
      group: other,
      audience: "internal",
      extensions: {},
      actor: { subject: uid, act: { sub: "before" } },
      bodyType: "",
      body: {},
      requestId: "before",
      time: timestamp(clock()),
      auditContext: { operation: "/oauth/callback", bindings: ["b"], origin: { address: "192.0.2.1", userAgent: "" } },
    }),
  );
  const told = await signIns(uid);
  assert.deepEqual(
    told.map((entry) => [placeOf(entry), entry.bindingUids, entry.remoteAddress]),
    [[other, ["b"], "192.0.2.1"]],
  );
});

test("a sign-in that fails in the provider's callback has a refused entry for the operator", async () => {
  provider.lies = { nonce: "another" };
  const { error, token } = await signIn(world, provider, idp, { sub: "liar" });
  provider.lies = {};
  assert.deepEqual([token, error], ["", "the response of the identity provider to this sign-in is invalid"]);
  const told = (await entriesOf(world, { operations: ["/oauth"] })).at(-1);
  assert.deepEqual([told && placeOf(told), told?.code, told?.callerUid], [operatorUid, "UNAUTHENTICATED", undefined]);
  assert.deepEqual(await signIns(personUid("liar")), []);
});

// ---- commands ---------------------------------------------------------------------------------------------------

test("gantry token has an entry: for the operator itself, and for an identity in its group, by the operator", async () => {
  const identity = await createIdentity(world, world.organization, "borrowed", { issuer: issuer.url, subject: "borrowed" });
  const binding = await bind(world, world.organization, identity, "viewer");
  const [own, theirs] = [
    await gantry(["token"], { env: installation.environment }),
    await gantry(["token", "--identity", identity], { env: installation.environment }),
  ];
  assert.deepEqual([own.code, theirs.code], [0, 0]);
  assert.equal(claimsOf(theirs.stdout.trim()).sub, identity);
  const [entry, ...more] = await signIns(identity);
  assert.ok(entry);
  assert.deepEqual(
    [placeOf(entry), entry.callerUid, entry.operation, entry.userAgent, entry.remoteAddress, entry.bindingUids, more.length],
    [world.organization, operatorUid, "gantry token", "gantry token", undefined, [binding], 0],
  );
  assert.ok((await signIns(operatorUid)).some((each) => placeOf(each) === operatorUid && each.operation === "gantry token"));
});

test("gantry register, suspend and resume each have an entry of the operator", async () => {
  const run = async (...args: string[]) => {
    const { code, stderr } = await gantryAnywhere(args, { env: installation.environment });
    assert.equal(code, 0, stderr);
  };
  await run("register", "--issuer", issuer.url, "--subject", "registered by command", "--email", "r@example.com");
  const uid = world.server.application.services.authn.personUid(issuer.url, "registered by command");
  assert.deepEqual(
    (await entriesOf(world, { subjects: [uid] })).map((entry) => [placeOf(entry), entry.callerUid, entry.operation, entry.type]),
    [[uid, operatorUid, "gantry register", "dev.gantry.person.registered.v1"]],
  );
  const suspended = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "to be suspended" } }), "uid");
  await run("suspend", suspended);
  await run("resume", suspended);
  const told = await entriesOf(world, { subjects: [suspended], callerUids: [operatorUid] });
  assert.deepEqual(told.map((entry) => [placeOf(entry), entry.operation]).slice(1), [
    [suspended, "gantry suspend"],
    [suspended, "gantry resume"],
  ]);
});

test("each quota change has an entry: in the organization's log, or the operator's for server quotas", async () => {
  const env = { ...installation.environment, DATABASE_URL: world.databaseUrl, GANTRY_MIGRATE_URL: ownerUrlOf(world.databaseUrl) };
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await gantryAnywhere(["admin", "quota", ...args], { env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "with a quota" } }), "uid");
  await run("set", "repos", "5", "--organization", organization);
  await run("set", "subscriptions", "50");
  assert.match(
    await run("--organization", organization),
    /^QUOTA +DEFAULT +SERVER +ORGANIZATION +USED\n(?:.*\n)*repos +1000000 +- +5 +0\n(?:.*\n)*subscriptions +5000 +50 +- +0$/m,
  );
  await run("unset", "repos", "--organization", organization);
  await run("unset", "subscriptions");
  // The quota is already unset, so nothing changes.
  await run("unset", "subscriptions");
  const told = (await entriesOf(world, { callerUids: [operatorUid] })).filter(({ type }) => type === "dev.gantry.quota.changed.v1");
  const toldIn = (place: string) => told.filter((entry) => placeOf(entry) === place).map((entry) => [entry.operation, entry.subject]);
  assert.deepEqual(toldIn(organization), [
    ["gantry admin quota set repos 5", organization],
    ["gantry admin quota unset repos", organization],
  ]);
  assert.deepEqual(toldIn(operatorUid), [
    ["gantry admin quota set subscriptions 50", undefined],
    ["gantry admin quota unset subscriptions", undefined],
  ]);
});

// ---- no token without an entry ----------------------------------------------------------------------------------

/** Makes every insert of a sign-in event fail in this database. */
const breakLines = async (): Promise<void> => {
  await tamper(world, "create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$");
  await tamper(world, `create trigger refuse before insert on outbox for each row when (new.type = '${signedIn}') execute function refuse()`);
};
afterEach(async () => {
  await tamper(world, "drop trigger if exists refuse on outbox");
});

for (const [title, { ask: exchange }] of Object.entries(protocols)) {
  test(`${title} issues no token if its entry cannot be written`, async () => {
    const { subject } = await newPerson();
    const token = await issuer.token({ sub: subject, aud: world.url });
    await breakLines();
    assert.equal((await exchange(token)).given, "");
  });
}

for (const [title, { renew }] of Object.entries(renewals)) {
  test(`${title} issues no token if its entry cannot be written, and the refresh token remains valid`, async () => {
    const first = await arrive(`unheard by ${title}`);
    await breakLines();
    assert.deepEqual(await renew(first), { given: "", next: "" });
    await tamper(world, "drop trigger refuse on outbox");
    assert.notEqual((await renew(first)).given, "");
  });
}

test("attack 33: browsers, terminals, headless clients and commands get no token if the entry cannot be written", async () => {
  const device = await requestDeviceCodes(world, { idp_id: idp });
  await breakLines();
  assert.equal((await signIn(world, provider, idp, { sub: "ada" }, { create_refresh_token: "true" })).token, "");
  await confirmAs(world, provider, device.page, { sub: "ada" });
  const { status, body } = await poll(world, device);
  assert.deepEqual([status === 200, body.access_token], [false, undefined]);
  assert.doesNotMatch((await confirmAs(world, provider, headlessAddress(), { sub: "ada" })).text, /is signed in/);
  await assert.rejects(mintToken(world.server.application.services));
});

test("no organization is suspended and no user registered if the entry cannot be written", async () => {
  const kept = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "to be kept" } }), "uid");
  await tamper(world, "create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$");
  await tamper(world, "create trigger refuse before insert on outbox for each row execute function refuse()");
  await assert.rejects(setSuspended(world.server.application, kept, true));
  await assert.rejects(registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "unheard", email: "", name: "" }));
  const uid = world.server.application.services.authn.personUid(issuer.url, "unheard");
  assert.deepEqual(await tamper(world, "select 1 from identities where uid = $1", [uid]), []);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: kept })).code, 0);
  assert.deepEqual(await tamper(world, "select 1 from groups where uid = $1 and status = 'ORG_STATUS_SUSPENDED'", [kept]), []);
});

test("the chains of all logs verify after these tests", async () => {
  assert.equal((await verifyLogs(world)).whole, true);
});
