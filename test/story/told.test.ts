// Every row change has events: rows deleted or created along with a resource have their own events and audit entries before the operation's, with its
// actor, operation and request. In all tests the database enforces an event for every row change; here is the content, and the
// limit of one deletion.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { isObject, type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newChild } from "#base/uid.ts";
import { entriesOf } from "../audit.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";

const protocols = ["rest", "grpc"] as const;

let database: TestDatabase;
let world: World;
before(async () => {
  database = await freshDatabase();
  world = await openWorld({ DATABASE_URL: database.url, GANTRY_OPEN_ORGANIZATIONS: "true" });
});
after(async () => {
  await world?.close();
  await database?.drop();
});

const make = async (name: string, request: JsonObject): Promise<string> => text(await world.ok(name, request), "uid");
const makeGroup = (): Promise<string> => make("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "told" } });
const makeIdentity = (parent: string): Promise<string> =>
  make("iam.IdentitiesService/CreateIdentity", { parent, identity: { name: "ci", claimMatch: { issuer: "https://issuer.example", subject: "ci" } } });
const bind = (parent: string, identityUid: string, role = "viewer"): Promise<string> =>
  make("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(role) } });
const makeRepo = (parent: string): Promise<string> => make("registry.ReposService/CreateRepo", { parent, repo: { name: "nginx" } });
const makeTag = (parent: string, name: string): Promise<string> =>
  make("registry.TagsService/CreateTag", { parent, tag: { name, digest: `sha256:${"a".repeat(64)}` } });

/** Inserts that many tags without events. */
const plantTags = (repo: string, count: number): Promise<unknown> =>
  world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query(
      `insert into tags (uid, name, digest, create_time, update_time)
       select $1 || '/' || lpad(to_hex(number), 16, '0'), number::text, 'sha256:' || repeat('a', 64), now(), now()
       from generate_series(1, $2::integer) as number`,
      [repo, count],
    ),
  );

const reportedBy = async (work: () => Promise<unknown>): Promise<[string, string][]> => {
  const { length } = await world.events();
  await work();
  return (await world.events()).slice(length).map(({ type, subject }) => [type.replace(/^dev\.chainguard\.api\./, ""), subject]);
};

for (const protocol of protocols) {
  test(`over ${protocol} deleting an identity emits events of its bindings before its own`, async () => {
    const group = await makeGroup();
    const identity = await makeIdentity(group);
    const bindings = [await bind(group, identity), await bind(group, identity, "editor")].sort();
    const told = await reportedBy(() => world.ok("iam.IdentitiesService/DeleteIdentity", { uid: identity }, { protocol }));
    assert.deepEqual(told, [...bindings.map((uid) => ["iam.rolebindings.deleted.v1", uid]), ["iam.identity.deleted.v1", identity]]);
  });

  test(`over ${protocol} events of a repo's tags precede the repo's, and those of a group's bindings and subscriptions the group's`, async () => {
    const group = await makeGroup();
    const repo = await makeRepo(group);
    const tags = [await makeTag(repo, "1"), await makeTag(repo, "2")].sort();
    const ofRepo = await reportedBy(() => world.ok("registry.ReposService/DeleteRepo", { uid: repo }, { protocol }));
    assert.deepEqual(ofRepo, [...tags.map((uid) => ["platform.registry.tag.deleted.v1", uid]), ["platform.registry.repo.deleted.v1", repo]]);

    const identity = await makeIdentity(world.organization);
    const along = [
      await bind(group, identity),
      await make("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: "https://sink.example" } }),
      await make("iam.AccountAssociationsService/CreateAccountAssociation", { parent: group, accountAssociation: { name: "accounts" } }),
    ];
    const ofGroup = await reportedBy(() => world.ok("iam.GroupsService/DeleteGroup", { uid: group }, { protocol }));
    assert.deepEqual(ofGroup.at(-1), ["iam.group.deleted.v1", group]);
    assert.deepEqual(
      ofGroup
        .slice(0, -1)
        .map(([, subject]) => subject)
        .sort(),
      along.sort(),
    );
  });
}

test("the event and audit entry of a cascaded deletion have the actor, operation and request of its cause", async () => {
  const group = await makeGroup();
  const owner = await makeIdentity(group);
  await bind(group, owner, "owner");
  const identity = await makeIdentity(group);
  const binding = await bind(group, identity);
  const { headers } = await world.call("iam.IdentitiesService/DeleteIdentity", { uid: identity }, { token: await world.token(owner) });
  const entries = await entriesOf(world, { uidp: { descendantsOf: world.organization } });
  const ours = entries.filter(({ requestId }) => requestId === headers["x-request-id"]);
  assert.deepEqual(ours.map(({ subject }) => subject).sort(), [binding, identity].sort());
  for (const { operation, callerUid } of ours) assert.deepEqual([operation, callerUid], ["chainguard.platform.iam.v2.IdentitiesService/DeleteIdentity", owner]);
});

test("a batch has one event, and its audit entry names every created row", async () => {
  const group = await makeGroup();
  const identities = [await makeIdentity(group), await makeIdentity(group), await makeIdentity(group)];
  const requests = identities.map((identityUid) => ({ roleBinding: { identityUid, roleUid: builtInRoleUid("viewer") } }));
  let made: JsonObject = {};
  const told = await reportedBy(async () => {
    made = await world.ok("iam.RoleBindingsService/BatchCreateRoleBindings", { parent: group, requests });
  });
  assert.equal(told.length, 1);
  const bindings = Array.isArray(made.roleBindings) ? made.roleBindings.filter(isObject).map(({ uid }) => String(uid)) : [];
  assert.equal(bindings.length, 3);
  const [entry] = (await entriesOf(world, { uidp: { descendantsOf: world.organization } })).filter(({ operation }) =>
    String(operation).endsWith("/BatchCreateRoleBindings"),
  );
  assert.deepEqual(texts(entry ?? {}, "resourceUids").sort(), bindings.sort());
});

test("a new organization also emits the event of its owner's binding", async () => {
  const person = text(await world.ok("iam.IdentitiesService/LookupIdentity", { issuer: "https://people.example", subject: "ann" }), "uid");
  await world.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query("insert into identities (uid, name, create_time, update_time) values ($1, 'ann', now(), now())", [person]),
  );
  let organization = "";
  const told = await reportedBy(async () => {
    organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "hers" } }, { token: await world.token(person) }), "uid");
  });
  assert.deepEqual(
    told.map(([type]) => type),
    ["iam.rolebindings.created.v1", "iam.group.created.v1"],
  );
  assert.equal(told.at(-1)?.[1], organization);
});

test("a deletion of more rows than the limit is refused with their number and changes nothing", async () => {
  const repo = await makeRepo(await makeGroup());
  const count = limits.deletedRowsMax + 1;
  await plantTags(repo, count);
  for (const protocol of protocols) {
    const before = (await world.events()).length;
    const refused = await world.call("registry.ReposService/DeleteRepo", { uid: repo }, { protocol });
    assert.equal(refused.code, codes.FAILED_PRECONDITION);
    assert.match(refused.message, new RegExp(`${count}`));
    assert.equal((await world.events()).length, before);
    const { totalCount } = await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, pageSize: 1 });
    assert.equal(totalCount, String(count));
  }
  await world.ok("registry.TagsService/DeleteTag", { uid: newChildAt(repo, 1) });
  const told = await reportedBy(() => world.ok("registry.ReposService/DeleteRepo", { uid: repo }));
  assert.equal(told.length, count);
  assert.deepEqual(told.at(-1), ["platform.registry.repo.deleted.v1", repo]);
});

test("a refused deletion has deleted no row before its refusal, for any reason", async () => {
  const group = await makeGroup();
  const identity = await makeIdentity(world.organization);
  await bind(group, identity);
  await makeTag(await makeRepo(group), "1");
  const role = await make("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "kept", capabilities: ["CAP_IAM_GROUPS_LIST"] } });
  await make("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: identity, roleUid: role } });
  const large = await makeRepo(await makeGroup());
  await plantTags(large, limits.deletedRowsMax + 1);
  // Sequences are not rolled back, so the count survives a rollback.
  const kept = ["groups", "role_bindings", "repos", "tags", "roles", "subscriptions", "group_invites", "access_versions"];
  await asOwner(database.url, "create sequence counted_deletions");
  await asOwner(
    database.url,
    `create function count_deleted() returns trigger language plpgsql security definer set search_path = public as
       $$ begin perform nextval('counted_deletions'); return old; end $$`,
  );
  for (const table of kept) {
    await asOwner(database.url, `create trigger count_deleted before delete on ${table} for each row execute function count_deleted()`);
  }
  const countDeleted = async (): Promise<unknown> =>
    (await asOwner(database.url, "select case when is_called then last_value else 0 end from counted_deletions"))[0]?.[0];
  for (const [method, uid] of [
    ["iam.GroupsService/DeleteGroup", group],
    ["iam.RolesService/DeleteRole", role],
    ["registry.ReposService/DeleteRepo", large],
  ] as const) {
    assert.equal((await world.call(method, { uid })).code, codes.FAILED_PRECONDITION, method);
    assert.equal(await countDeleted(), "0", method);
  }
  await world.ok("registry.TagsService/DeleteTag", { uid: newChildAt(large, 1) });
  await world.ok("registry.ReposService/DeleteRepo", { uid: large });
  assert.equal(await countDeleted(), String(limits.deletedRowsMax + 2), "the same count sees what is deleted");
});

const newChildAt = (parent: string, number: number): string => `${newChild(parent).slice(0, -16)}${number.toString(16).padStart(16, "0")}`;
