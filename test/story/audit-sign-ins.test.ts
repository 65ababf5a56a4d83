// Sign-ins in the audit log: whoever comes in by whichever way is told where it gives rights, and nobody is given a
// token without its line.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { builtInRoleUid, operatorUid } from "#authz";
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
/** The other organization, and one who watches over each. */
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

/** Entries of this identity's sign-ins, as whoever has this token sees them; all of them without one. */
const signIns = async (identity: string, token?: string): Promise<JsonObject[]> =>
  (await entriesOf(world, { subjects: [identity] }, token)).filter(({ type, code }) => type === signedIn && code === "OK");

const placeOf = ({ uid }: JsonObject): string => String(uid).slice(0, -17);

const formOf = (subject: string, identity?: string): Record<string, string> => ({
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token: subject,
  ...(identity === undefined ? {} : { identity }),
});

/** Every protocol that gives a token for another issuer's: its token and what the log calls it. */
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
  test(`an assumable identity that comes in by ${title} is told in its own group, with its bindings and what its token said`, async () => {
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

  test(`a person of two organizations who comes in by ${title} is told once in each, with its own bindings, and neither sees the other's`, async () => {
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

  test(`a person without any rights who comes in by ${title} is told to the operator alone`, async () => {
    const { uid, subject } = await newPerson();
    assert.notEqual((await exchange(await issuer.token({ sub: subject, aud: world.url }))).given, "");
    const [entry, ...more] = await signIns(uid);
    assert.deepEqual([entry && placeOf(entry), entry?.bindingUids, more.length], [uid, undefined, 0]);
    for (const token of [watcher, otherWatcher]) assert.deepEqual(await signIns(uid, token), []);
  });

  test(`a token that ${title} refuses is told to the operator alone`, async () => {
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

test("of a binding whose time is over a sign-in says nothing", async () => {
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

test("a sign-in in a browser is told in the organization whose provider vouched, with what the provider said", async () => {
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

test("a sign-in whose rights come from a provider's groups names the mappings that give them", async () => {
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

test("a terminal that signs in with a code is told once, when it has its tokens or the person has confirmed", async () => {
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

test("a sign-in for a client elsewhere is told once", async () => {
  assert.match((await confirmAs(world, provider, headlessAddress(), { sub: "hedy" })).text, /is signed in/);
  assert.deepEqual(
    (await signIns(personUid("hedy"))).map((entry) => [placeOf(entry), entry.operation]),
    [[world.organization, "/oauth/callback"]],
  );
});

const arrive = async (sub: string): Promise<string> => (await signIn(world, provider, idp, { sub }, { create_refresh_token: "true" })).refreshToken;

/** Both protocols of refresh tokens: what they gave, and the next one. */
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
  test(`each token that a refresh token gives by ${title} is told, and one that comes twice is told to the operator as refused`, async () => {
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

test("the organization whose provider vouched is told of a sign-in and of each refresh, also where nothing gives rights there any more", async () => {
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

test("an invite of another organization does not keep a sign-in from the one whose provider vouched", async () => {
  const groupInvite = { roleUid: builtInRoleUid("viewer"), ttl: "86400s" };
  const { code } = await world.ok("iam.GroupInvitesService/CreateGroupInvite", { parent: other, groupInvite });
  await signInWithInvite(world, provider, idp, { sub: "invited elsewhere" }, String(code));
  assert.deepEqual((await signIns(personUid("invited elsewhere"))).map(placeOf).sort(), [world.organization, other].sort());
});

test("a sign-in that the version before wrote down, for one organization, is an entry there", async () => {
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

test("a sign-in that fails on its way back from the provider is told to the operator as refused", async () => {
  provider.lies = { nonce: "another" };
  const { error, token } = await signIn(world, provider, idp, { sub: "liar" });
  provider.lies = {};
  assert.deepEqual([token, error], ["", "the response of the identity provider to this sign-in is invalid"]);
  const told = (await entriesOf(world, { operations: ["/oauth"] })).at(-1);
  assert.deepEqual([told && placeOf(told), told?.code, told?.callerUid], [operatorUid, "UNAUTHENTICATED", undefined]);
  assert.deepEqual(await signIns(personUid("liar")), []);
});

// ---- commands ---------------------------------------------------------------------------------------------------

test("gantry token has an entry: of the operator's own, and of an identity's in its group as the operator's doing", async () => {
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

test("gantry register, suspend and resume have an entry each, in the operator's name", async () => {
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

test("gantry admin quota has an entry for each change, of an organization's quota in its log, of the server's in the operator's", async () => {
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
  // Nothing was set any more, so that nothing was changed.
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

// ---- none without its line --------------------------------------------------------------------------------------

/** From now on no sign-in can be written down in this database. */
const breakLines = async (): Promise<void> => {
  await tamper(world, "create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$");
  await tamper(world, `create trigger refuse before insert on outbox for each row when (new.type = '${signedIn}') execute function refuse()`);
};
afterEach(async () => {
  await tamper(world, "drop trigger if exists refuse on outbox");
});

for (const [title, { ask: exchange }] of Object.entries(protocols)) {
  test(`no token by ${title} without its line`, async () => {
    const { subject } = await newPerson();
    const token = await issuer.token({ sub: subject, aud: world.url });
    await breakLines();
    assert.equal((await exchange(token)).given, "");
  });
}

for (const [title, { renew }] of Object.entries(renewals)) {
  test(`no token for a refresh token by ${title} without its line, and the refresh token is not used up`, async () => {
    const first = await arrive(`unheard by ${title}`);
    await breakLines();
    assert.deepEqual(await renew(first), { given: "", next: "" });
    await tamper(world, "drop trigger refuse on outbox");
    assert.notEqual((await renew(first)).given, "");
  });
}

test("no token by a browser, a terminal, a client elsewhere or a command without its line", async () => {
  const device = await requestDeviceCodes(world, { idp_id: idp });
  await breakLines();
  assert.equal((await signIn(world, provider, idp, { sub: "ada" }, { create_refresh_token: "true" })).token, "");
  await confirmAs(world, provider, device.page, { sub: "ada" });
  const { status, body } = await poll(world, device);
  assert.deepEqual([status === 200, body.access_token], [false, undefined]);
  assert.doesNotMatch((await confirmAs(world, provider, headlessAddress(), { sub: "ada" })).text, /is signed in/);
  await assert.rejects(mintToken(world.server.application.services));
});

test("an organization is not suspended and nobody registered without the line of it", async () => {
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

test("after all of this the logs are whole", async () => {
  assert.equal((await verifyLogs(world)).whole, true);
});
