// Attacks 74 to 78: what an organization can learn about users who have not accepted membership, and sign-ins that are hidden from an
// organization or reported to the wrong one (docs/decisions/0067). An organization binds a stranger by uid, lets the stranger act there, and
// then reads whatever it can.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { entriesOf, sealAudit, verifyLogs } from "../audit.ts";
import { registerPerson } from "../../server/application/person.ts";
import { everyCapabilityBut, hasSafeWrites, openStage, protocolsOf, protocols, type Stage } from "../conformance/stage.ts";
import { type Issuer, startIssuer, stopAll } from "../story/processes.ts";
import { openSink, type Sink } from "../story/sink.ts";
import type { World } from "../world.ts";

const register = "chainguard.platform.auth.Auth/Register";
const exchange = "chainguard.platform.oidc.SecurityTokenService/Exchange";
const acceptMembership = "gantry.memberships.v1.MembershipsService/AcceptMembership";
const signedIn = "dev.gantry.auth.signed_in.v1";

let stage: Stage;
let world: World;
let issuer: Issuer;
let sink: Sink;
/** Owns the organization with every capability there, and is not the operator. */
let binder: string;

before(async () => {
  [stage, issuer, sink] = await Promise.all([openStage({ GANTRY_TRUSTED_PROXIES: "127.0.0.1" }), startIssuer(), openSink()]);
  // Only the operator sees users in every organization and binds them without consent.
  world = stage.operatorWorld;
  // From here on, this issuer can name users.
  await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "first", email: "", name: "first" });
  ({ token: binder } = await stage.holder(everyCapabilityBut(""), world.organization));
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: sink.url } }, { token: binder });
});
after(async () => {
  await Promise.all([stage?.close(), issuer?.close(), sink?.close()]);
  await stopAll();
});

interface Stranger {
  readonly uid: string;
  /** Texts that only the user and their issuer know; they appear in no uid and in no other request of this test. */
  readonly texts: readonly string[];
  call(name: string, request: JsonObject, token?: string): Promise<{ readonly code: number; readonly reply: JsonObject }>;
  /** Signs in with a token of the user's issuer; returns the server's token. */
  signIn(): Promise<string>;
}

let strangers = 0;

/** Returns a token that the issuer signs now; its clock is the machine's, which this world's clock is set to. */
const tokenOf = (claims: Readonly<Record<string, unknown>>): Promise<string> => {
  world.clock.now = Math.max(world.clock.now, Date.now());
  return issuer.token(claims);
};

const newStranger = async (): Promise<Stranger> => {
  const number = ++strangers;
  const word = `zelda${number}`;
  const claims = {
    sub: `${word}-subject`,
    aud: world.url,
    name: `${word} fullname`,
    given_name: `${word}-given`,
    family_name: `${word}-family`,
    picture: `https://pictures.example/${word}.png`,
    email: `${word}@private.example`,
    email_verified: true,
  };
  const headers = { "x-forwarded-for": `203.0.113.${number}`, "user-agent": `${word}-browser/7` };
  const call: Stranger["call"] = async (name, request, token) => world.call(name, request, { token: token ?? (await tokenOf(claims)), headers });
  const uid = world.server.application.services.authn.personUid(issuer.url, claims.sub);
  const { code } = await call(register, {});
  assert.equal(code, 0);
  const own = { texts: [word, issuer.url, headers["x-forwarded-for"]], uid };
  return { ...own, call, signIn: async () => text((await call(exchange, {})).reply, "token") };
};

const bindTo = (uid: string, roleUid: string, token = binder): Promise<JsonObject> =>
  world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding: { identityUid: uid, roleUid } }, { token });

/** Returns the request with this uid in place of each identity or resource in turn. */
const variantsOf = (method: MethodFact, request: JsonObject, uid: string): JsonObject[] => {
  const named = method.input.fields.filter((field) => field.uid && field.shape === "one").map(({ json }) => ({ ...request, [json]: uid }));
  const within = Object.entries(request).flatMap(([key, value]): JsonObject[] =>
    isObject(value) && "identityUid" in value ? [{ ...request, [key]: { ...value, identityUid: uid } }] : [],
  );
  const listed = method.input.fields.filter((field) => field.uid && field.shape === "list").map(({ json }) => ({ ...request, [json]: [uid] }));
  const scoped = method.input.byName.has("uidp")
    ? [
        ...(method.input.byName.get("uidp")?.message?.byName.has("ids") ? [{ ...request, uidp: { ids: [uid] } }] : []),
        { ...request, uidp: { descendantsOf: world.organization } },
      ]
    : [];
  return [request, ...named, ...within, ...listed, ...scoped];
};

/** Returns every response that this token can get, of writes and dry runs too, as one text. */
const everythingShown = async (uid: string, token: string): Promise<string> => {
  const shown: string[] = [];
  for (const method of methods.filter((each) => stage.answers(each) && !each.open))
    for (const protocol of protocolsOf(method)) {
      const request = await stage.request(method, { place: world.organization, capabilities: ["repo.list"] });
      for (const variant of variantsOf(method, method.input.byName.has("page_size") ? { ...request, pageSize: 200 } : request, uid)) {
        const answer = await stage.call(protocol, method, variant, { token, validateOnly: method.writes && hasSafeWrites(method) });
        const { reply, message, details, headers, raw } = answer;
        shown.push(JSON.stringify({ method: method.name, reply, message, details, headers, raw }));
      }
    }
  for (const capability of ["repo.create", "repo.list"])
    for (const protocol of protocols)
      shown.push(
        JSON.stringify(
          (await world.call("gantry.access.v1.AccessService/WhoCan", { place: world.organization, capability, pageSize: 200 }, { token, protocol })).reply,
        ),
      );
  await sealAudit(world);
  for (const [name, plural] of [
    ["gantry.audit.v1.AuditService/ListAuditEntries", "auditEntries"],
    ["gantry.events.v1.EventsService/ListEvents", "events"],
  ] as const)
    for (let pageToken = ""; ; ) {
      const reply: JsonObject = await world.ok(name, { pageSize: 200, pageToken }, { token });
      assert.ok(Array.isArray(reply[plural]));
      shown.push(JSON.stringify(reply));
      pageToken = text(reply, "nextPageToken");
      if (pageToken === "") break;
    }
  return shown.join("\n");
};

const lineWith = (shown: string, word: string): string => shown.split("\n").find((line) => line.includes(word)) ?? "";

const assertUnseen = ({ texts }: Stranger, shown: string): void => {
  for (const word of texts) assert.ok(!shown.includes(word), `${word} is shown in ${lineWith(shown, word).slice(0, 2_000)}`);
};

test("attacks 74, 75: an organization that binds a stranger's uid learns only that uid until the user accepts", async () => {
  const stranger = await newStranger();
  const { uid } = await bindTo(stranger.uid, builtInRoleUid("editor"));
  await world.ok(
    "iam.RoleBindingsService/BatchCreateRoleBindings",
    { parent: world.organization, roleUid: builtInRoleUid("viewer"), requests: [{ roleBinding: { identityUid: stranger.uid } }] },
    { token: binder },
  );
  await world.ok(
    "iam.RoleBindingsService/UpdateRoleBinding",
    { roleBinding: { uid: String(uid), expireTime: new Date(world.clock.now + 86_400_000).toISOString() } },
    { token: binder },
  );
  // The user signs in, tries the role, is refused, and states their profile.
  const act = async (name: string, wanted: number): Promise<void> => {
    const token = await stranger.signIn();
    assert.notEqual(token, "");
    const { code } = await stranger.call("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } }, token);
    assert.equal(code, wanted, "a pending binding grants nothing");
    assert.equal((await stranger.call("iam.GroupsService/DeleteGroup", { uid: world.organization }, token)).code, 7);
    const metadata = { identityMetadata: { company: `${stranger.texts[0]} company` } };
    assert.equal((await stranger.call("iam.IdentitiesService/UpdateIdentityMetadata", metadata, token)).code, 0);
  };
  await act("by-a-stranger", 7);
  await world.server.delivery.finish();
  const delivered = sink.got.map(({ body, headers }) => JSON.stringify({ headers, body })).join("\n");
  assert.ok(delivered.includes(stranger.uid), "something was sent");
  assertUnseen(stranger, delivered);
  const before = await everythingShown(stranger.uid, binder);
  assert.ok(before.includes(stranger.uid), "the uid is seen");
  assertUnseen(stranger, before);
  const refusals = (await entriesOf(world, { callerUids: [stranger.uid] }, binder)).map(({ code, remoteAddress, act: said }) => [code, remoteAddress, said]);
  assert.ok(refusals.some(([code]) => code === "PERMISSION_DENIED"));

  assert.equal((await stranger.call(acceptMembership, { group: world.organization }, await stranger.signIn())).code, 0);
  await act("by-a-member", 0);
  const afterwards = await everythingShown(stranger.uid, binder);
  for (const word of stranger.texts) assert.ok(afterwards.includes(word), `${word} is shown to the organization to which the person has agreed`);
  const created = (await entriesOf(world, { callerUids: [stranger.uid] }, binder)).filter(({ operation }) => String(operation).endsWith("/CreateRepo"));
  assert.deepEqual(
    created.map(({ act: said, remoteAddress, userAgent }) => [isObject(said ?? null), remoteAddress, userAgent]),
    [
      [false, undefined, undefined],
      [true, stranger.texts[2], `${stranger.texts[0]}-browser/7`],
    ],
    "from the next request on, and what was told before stays",
  );
  assert.ok((await verifyLogs(world)).whole);
});

test("attack 74: a binding has the same fields and ETag over every protocol, and changes when the user accepts", async () => {
  const stranger = await newStranger();
  const made = await bindTo(stranger.uid, builtInRoleUid("viewer"));
  const uid = String(made.uid);
  assert.deepEqual(made.identity, { uid: stranger.uid });
  const get = () => world.call("iam.RoleBindingsService/GetRoleBinding", { uid }, { token: binder });
  const [before, byOperator] = [await get(), await world.call("iam.RoleBindingsService/GetRoleBinding", { uid })];
  assert.deepEqual([before.reply, byOperator.reply], [made, made]);
  assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid: stranger.uid }, { token: binder })).code, 7);
  await stranger.call(acceptMembership, { group: world.organization }, await stranger.signIn());
  const afterwards = await get();
  assert.deepEqual(afterwards.reply.identity, {
    uid: stranger.uid,
    name: `${stranger.texts[0]} fullname`,
    subject: `${stranger.texts[0]}-subject`,
    issuer: issuer.url,
    email: `${stranger.texts[0]}@private.example`,
  });
  assert.notEqual(afterwards.headers.etag, before.headers.etag);
  assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid: stranger.uid }, { token: binder })).code, 0);
});

const signInsOf = async (uid: string, token?: string): Promise<JsonObject[]> =>
  (await entriesOf(world, { subjects: [uid] }, token)).filter(({ type }) => type === signedIn);

const rootsOf = (entries: readonly JsonObject[]): string[] => entries.map(({ uid }) => String(uid).slice(0, 40)).sort();

test("attack 75: an organization that only bound a user gets no events of the user's sign-ins, even if another one does", async () => {
  const stranger = await newStranger();
  const { uid: other } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "agreed to" } });
  await bindTo(stranger.uid, builtInRoleUid("owner"));
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: String(other),
    roleBinding: { identityUid: stranger.uid, roleUid: builtInRoleUid("viewer") },
  });
  await stranger.signIn();
  const told = await signInsOf(stranger.uid);
  assert.deepEqual(rootsOf(told), [String(other)]);
  assert.equal(told[0]?.remoteAddress, stranger.texts[2]);
  assert.deepEqual(await signInsOf(stranger.uid, binder), []);
});

test("attack 76: a sign-in of a user with 150 organizations reaches all of them in one event", async () => {
  const stranger = await newStranger();
  const organizations: string[] = [];
  for (let number = 0; number < 150; number++) {
    const uid = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: `crowd ${number}` } })).uid);
    organizations.push(uid);
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
      parent: uid,
      roleBinding: { identityUid: stranger.uid, roleUid: builtInRoleUid("viewer") },
    });
  }
  await stranger.signIn();
  await sealAudit(world);
  const rows = await stage.query("select audit_context -> 'loggedAt' from outbox where subject = $1 and type = $2", [stranger.uid, signedIn]);
  assert.equal(rows.length, 1, "one row for all of them");
  assert.equal((JSON.parse(rows[0]?.[0] ?? "[]") as Json[]).length, 150);
  assert.deepEqual(rootsOf(await signInsOf(stranger.uid)), organizations.sort());
  assert.ok((await verifyLogs(world)).whole);
});

test("attack 77: an organization that names an issuer gets no sign-ins of a shared audience, and only uids for its own audience", async () => {
  const stranger = await newStranger();
  const { uid: greedy } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "greedy" } });
  const provide = (parent: string, clientId: string): Promise<JsonObject> =>
    world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent,
      identityProvider: { name: "people", defaultRole: builtInRoleUid("viewer"), oidc: { issuer: issuer.url, clientId, clientSecret: "s" } },
    });
  const { host, hostname } = new URL(world.url);
  for (const audience of [world.url, `${world.url}/`, host, hostname]) await provide(String(greedy), audience);
  const signInFor = async (aud: string[]): Promise<JsonObject[]> => {
    const token = await tokenOf({ sub: `${stranger.texts[0]}-subject`, aud, email: `${stranger.texts[0]}@private.example`, email_verified: true });
    const known = (await signInsOf(stranger.uid)).length;
    assert.equal((await stranger.call(exchange, {}, token)).code, 0);
    return (await signInsOf(stranger.uid)).slice(known);
  };
  for (const aud of [[world.url], [world.url, `${world.url}/`, host, hostname]]) assert.deepEqual(rootsOf(await signInFor(aud)), [stranger.uid]);
  await provide(String(greedy), "client-of-another");
  const [told, ...more] = await signInFor([world.url, "client-of-another"]);
  assert.equal(more.length, 0);
  assert.deepEqual(rootsOf(told ? [told] : []), [String(greedy)]);
  assert.deepEqual([told?.callerUid, told?.act, told?.remoteAddress, told?.userAgent], [stranger.uid, undefined, undefined, undefined]);
});

test("attack 78: only the user can accept: not a narrowed token, a program, the operator, or a user without a binding", async () => {
  const stranger = await newStranger();
  const agree = async (group: string, token: string, protocol: (typeof protocols)[number] = "rest") =>
    (await world.call(acceptMembership, { group }, { token, protocol })).code;
  const absent = "0".repeat(40);
  for (const protocol of protocols) {
    const unbound = await world.call(acceptMembership, { group: world.organization }, { token: await world.token(stranger.uid), protocol });
    const nothing = await world.call(acceptMembership, { group: absent }, { token: await world.token(stranger.uid), protocol });
    assert.equal(unbound.code, 5);
    const said = ({ code, message, details, status }: typeof nothing, uid: string) => JSON.stringify({ code, message, details, status }).replaceAll(uid, "UID");
    assert.equal(said(unbound, world.organization), said(nothing, absent));
  }
  await bindTo(stranger.uid, builtInRoleUid("owner"));
  const program = await stage.stranger(world.organization);
  await stage.bind(world.organization, program.uid, builtInRoleUid("viewer"));
  for (const protocol of protocols) {
    assert.equal(await agree(world.organization, await world.token(stranger.uid, { capabilities: ["repo.list"] }), protocol), 7);
    assert.equal(await agree(world.organization, await world.token(stranger.uid, { scopes: [world.organization] }), protocol), 7);
    assert.equal(await agree(world.organization, program.token, protocol), 7);
    assert.equal(await agree(world.organization, await world.token(), protocol), 7);
  }
  assert.deepEqual(await stage.query("select 1 from memberships where identity_uid = $1", [stranger.uid]), []);
});
