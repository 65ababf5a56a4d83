// Role bindings that expire: evaluated at each request, without caching and without a bypass.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import type { Protocol } from "../client.ts";
import { openWorld } from "../world.ts";
import { callBoth, column, items } from "./protocols.ts";
import { createIdentity, openInstallation, type Installation } from "./installation.ts";

const protocols: readonly Protocol[] = ["rest", "grpc"];
const claimMatch = { issuer: "https://issuer.example.com", subject: "for a time" };
const viewer = builtInRoleUid("viewer");
const minute = 60_000;

let home: Installation;
before(async () => {
  home = await openInstallation();
});
after(() => home?.close());

const inMs = (lifetimeMs: number): string => new Date(home.world.clock.now + lifetimeMs).toISOString();
const bindFor = async (
  identityUid: string,
  roleUid: string,
  expireTime: string | undefined,
  more: { readonly token?: string; readonly protocol?: Protocol } = {},
) =>
  home.world.call(
    "iam.RoleBindingsService/CreateRoleBinding",
    { parent: home.world.organization, roleBinding: { identityUid, roleUid, ...(expireTime === undefined ? {} : { expireTime }) } },
    more,
  );
const someone = (name: string): Promise<string> => createIdentity(home.world, home.world.organization, name, claimMatch);
/** Returns 0 if the token can read the organization, 7 if it cannot. */
const sees = async (token: string, protocol: Protocol = "rest"): Promise<number> =>
  (await home.world.call("iam.GroupsService/GetGroup", { uid: home.world.organization }, { token, protocol })).code;
const violated = (details: readonly JsonObject[]): string[] => column(details[1] ?? {}, "fieldViolations", "field");

test("a binding returns its expiry in every response, but not in its event, which has the public body", async () => {
  const { world } = home;
  const who = await someone("shown");
  const expireTime = inMs(30 * minute);
  const { reply } = await bindFor(who, viewer, expireTime);
  assert.equal(reply.expireTime, expireTime);
  const uid = text(reply, "uid");
  const token = await world.token();
  const read = await callBoth(world, token, ["GET", `/iam/v2/roleBindings/${uid}`], ["iam.RoleBindingsService/GetRoleBinding", { uid }]);
  assert.equal(read.body.expireTime, expireTime);
  const listed = await callBoth(world, token, ["GET", `/iam/v2/roleBindings?identity=${who}`], ["iam.RoleBindingsService/ListRoleBindings", { identity: who }]);
  assert.deepEqual(column(listed.body, "roleBindings", "expireTime"), [expireTime]);
  const event = (await world.events()).find(({ subject }) => subject === uid);
  assert.equal(event?.body.roleUid, viewer);
  assert.ok(!("expireTime" in (event?.body ?? {})));
});

test("a binding grants its permission until the exact moment it expires, on every server and protocol, without any write", async () => {
  const { world } = home;
  const second = await openWorld(
    home.environment.DATABASE_URL
      ? { DATABASE_URL: home.environment.DATABASE_URL, GANTRY_SECRET_KEY_FILE: home.environment.GANTRY_SECRET_KEY_FILE ?? "", GANTRY_PUBLIC_URL: world.url }
      : {},
  );
  try {
    const who = await someone("until then");
    second.clock.now = world.clock.now;
    const end = world.clock.now + 30 * minute;
    assert.equal((await bindFor(who, viewer, new Date(end).toISOString())).code, 0);
    const token = await world.token(who);
    const codes = async (): Promise<number[]> =>
      Promise.all(
        [world, second].flatMap((each) =>
          protocols.map(async (protocol) => (await each.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token, protocol })).code),
        ),
      );
    assert.deepEqual(await codes(), [0, 0, 0, 0]);
    world.clock.now = end - 1;
    second.clock.now = end - 1;
    assert.deepEqual(await codes(), [0, 0, 0, 0]);
    world.clock.now = end;
    second.clock.now = end;
    assert.deepEqual(await codes(), [7, 7, 7, 7]);
    const listed = await world.call("iam.GroupsService/ListGroups", {}, { token });
    assert.deepEqual(items(listed.reply, "groups"), [], "lists are of rights too");
    assert.equal(items((await world.call("iam.RoleBindingsService/ListRoleBindings", { identity: who })).reply, "roleBindings").length, 1);
  } finally {
    await second.close();
  }
});

test("changing or removing the expiry takes effect on the next request", async () => {
  const { world } = home;
  const who = await someone("moved");
  const uid = text((await bindFor(who, viewer, inMs(minute))).reply, "uid");
  const token = await world.token(who);
  const move = (roleBinding: JsonObject, updateMask = "expireTime") =>
    world.call("iam.RoleBindingsService/UpdateRoleBinding", { roleBinding: { uid, ...roleBinding }, updateMask });
  assert.equal(await sees(token), 0);
  world.clock.now += minute;
  assert.equal(await sees(token), 7);
  assert.equal((await move({ expireTime: inMs(minute) })).code, 0);
  assert.equal(await sees(token), 0);
  world.clock.now += minute;
  assert.equal(await sees(token, "grpc"), 7);
  const { code, reply } = await move({});
  assert.equal(code, 0);
  assert.ok(!("expireTime" in reply));
  world.clock.now += 10 * minute;
  assert.equal(await sees(token), 0);
});

test("an expiry in the past or an invalid time is refused by name on create, update and batch, and nothing is created", async () => {
  const { world } = home;
  const who = await someone("refused");
  const token = await world.token();
  for (const protocol of protocols) {
    for (const expireTime of [inMs(-1), inMs(0)]) {
      const refused = await bindFor(who, viewer, expireTime, { protocol });
      assert.deepEqual([refused.code, violated(refused.details)], [3, ["expireTime"]]);
      const batch = await world.call(
        "iam.RoleBindingsService/BatchCreateRoleBindings",
        { parent: world.organization, roleUid: viewer, requests: [{ roleBinding: { identityUid: who } }, { roleBinding: { identityUid: who, expireTime } }] },
        { token, protocol },
      );
      assert.deepEqual([batch.code, violated(batch.details)], [3, ["requests[1].roleBinding.expireTime"]]);
    }
  }
  const nonsense = await world.call("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: who, roleUid: viewer, expireTime: "soon" },
  });
  assert.deepEqual([nonsense.code, violated(nonsense.details)], [3, ["expireTime"]]);
  assert.equal((await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: who })).totalCount, "0");
});

test("each binding of a batch has its own expiry", async () => {
  const { world } = home;
  const [first, second] = [await someone("first"), await someone("second")];
  const requests = [{ roleBinding: { identityUid: first, expireTime: inMs(minute) } }, { roleBinding: { identityUid: second } }];
  const { roleBindings } = await world.ok("iam.RoleBindingsService/BatchCreateRoleBindings", { parent: world.organization, roleUid: viewer, requests });
  assert.deepEqual(
    items({ roleBindings: roleBindings ?? [] }, "roleBindings").map(({ expireTime }) => expireTime),
    [inMs(minute), undefined],
  );
  world.clock.now += minute;
  assert.deepEqual([await sees(await world.token(first)), await sees(await world.token(second))], [7, 0]);
});

test("a holder of an expiring permission cannot grant it for longer, to any identity, by role or by identity", async () => {
  const { world } = home;
  const { organization } = world;
  const guest = await someone("owner for a time");
  const mine = text((await bindFor(guest, builtInRoleUid("owner"), inMs(30 * minute))).reply, "uid");
  const friend = await someone("friend");
  const token = await world.token(guest);
  const custom = text(await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "small", capabilities: ["CAP_TAG_LIST"] } }), "uid");
  const lasting = await someone("lasting");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: lasting, roleUid: viewer } });
  const refused: readonly (readonly [what: string, name: string, request: JsonObject])[] = [
    [
      "their own end moved",
      "iam.RoleBindingsService/UpdateRoleBinding",
      { roleBinding: { uid: mine, expireTime: inMs(31 * minute) }, updateMask: "expireTime" },
    ],
    ["their own end removed", "iam.RoleBindingsService/UpdateRoleBinding", { roleBinding: { uid: mine }, updateMask: "expireTime" }],
    [
      "a second binding without an end",
      "iam.RoleBindingsService/CreateRoleBinding",
      { parent: organization, roleBinding: { identityUid: guest, roleUid: viewer } },
    ],
    [
      "a friend for longer",
      "iam.RoleBindingsService/CreateRoleBinding",
      { parent: organization, roleBinding: { identityUid: friend, roleUid: viewer, expireTime: inMs(31 * minute) } },
    ],
    [
      "a friend in a batch",
      "iam.RoleBindingsService/BatchCreateRoleBindings",
      { parent: organization, roleUid: viewer, requests: [{ roleBinding: { identityUid: friend } }] },
    ],
    [
      "a role that others may have",
      "iam.RolesService/UpdateRole",
      { role: { uid: custom, capabilities: ["CAP_TAG_LIST", "CAP_REPO_DELETE"] }, updateMask: "capabilities" },
    ],
    [
      "an identity that has its rights for good",
      "iam.IdentitiesService/UpdateIdentity",
      { identity: { uid: lasting, claimMatch: { issuer: "https://mine.example.com", subject: "me" } }, updateMask: "claimMatch" },
    ],
  ];
  for (const protocol of protocols)
    for (const [what, name, request] of refused) {
      const { code, message } = await world.call(name, request, { token, protocol });
      assert.equal(code, 7, `${protocol} ${what}`);
      assert.match(message, / expires at /, what);
    }
  assert.equal((await bindFor(friend, viewer, inMs(30 * minute), { token })).code, 0, "as long as they hold it themselves, they may");
  assert.equal((await bindFor(friend, builtInRoleUid("editor"), inMs(minute), { token })).code, 0);
  // A caller can grant a permission that it also holds without expiry, including the permission to grant.
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: guest, roleUid: viewer } });
  assert.equal((await bindFor(lasting, builtInRoleUid("console_viewer"), undefined, { token })).code, 7);
  const gives = text(
    await world.ok("iam.RolesService/CreateRole", { parent: organization, role: { name: "gives", capabilities: ["CAP_IAM_ROLE_BINDINGS_CREATE"] } }),
    "uid",
  );
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: organization, roleBinding: { identityUid: guest, roleUid: gives } });
  assert.equal((await bindFor(lasting, builtInRoleUid("console_viewer"), undefined, { token })).code, 0);
});
