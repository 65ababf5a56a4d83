// Restoring deleted resources: a repo with images, a subscription with its secret, a provider, a group with 10,000 bindings. Restored resources work
// as before, and permanent deletion is final.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { defaultPeriods } from "#base/retention-periods.ts";
import { collect } from "#registry/collection";
import { findResourceCounts } from "#db";
import { retentions } from "../../server/application/retentions.ts";
import { findSubscriptionSecret, subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import { asOwner } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { openRegistryClient, newConfig, type RegistryClient } from "../registry/images.ts";
import { digestOf } from "../distribution.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";
import { createIdentity } from "./installation.ts";

const deletionsRetention = retentions.find(({ table }) => table === "deletions") ?? assert.fail();
const deletions = "gantry.deletions.v1.DeletionsService";
const day = 24 * 60 * 60 * 1000;
const claimMatch = { issuer: "https://issuer.example.com", subject: "somebody" };

let world: World;
let client: RegistryClient;
let blobs: string;
before(async () => {
  blobs = await mkdtemp(join(tmpdir(), "gantry-undelete-"));
  world = await openWorld({ GANTRY_BLOBS: blobs });
  client = openRegistryClient(world.url, () => world.token());
});
after(async () => {
  await world?.close();
  await rm(blobs, { recursive: true, force: true });
});

const deletionOf = async (uid: string): Promise<string> =>
  text(objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }), "deletions")[0] ?? {}, "uid");
const remove = async (method: string, uid: string): Promise<string> => {
  await world.ok(method, { uid });
  return (await deletionOf(uid)) || assert.fail("nothing is kept");
};
const undelete = (uid: string): Promise<JsonObject> => world.ok(`${deletions}/UndeleteDeletion`, { uid });
const store = () => world.server.application.services.store;
const countKept = async (deletion: string): Promise<number> =>
  Number((await store().read.query("select count(*) from deleted_rows where deletion_uid = $1", [deletion]))[0]?.[0]);
const makeFolder = async (): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } }), "uid");
const makeRepo = async (name: string, parent = world.organization): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");

const setQuota = (organization: string, name: string, value: number) =>
  asOwner(
    world.databaseUrl,
    "insert into quotas (organization, name, value) values ($1, $2, $3) on conflict (organization, name) do update set value = excluded.value",
    [organization, name, String(value)],
  );

// ---- repos -----------------------------------------------------------------------------------------------------------

const collectAll = async (): Promise<void> => {
  for await (const _ of collect(world.server.application.services));
};
const countContents = async (): Promise<number> => (await Array.fromAsync(world.server.application.services.blobs.list())).length;
const countBytes = async (): Promise<number> => (await findResourceCounts(store().read, world.organization)).get("blob_bytes") ?? 0;

const push = async (repo: string, tag: string, layer: Uint8Array): Promise<string> => {
  const config = newConfig();
  const parts = [config, layer];
  for (const part of parts) await client.pushBlob(repo, part);
  return client.pushManifest(
    repo,
    tag,
    parts.map((part) => ({ digest: digestOf(part), size: part.byteLength })),
  );
};
const repoOf = async (name: string): Promise<string> => text(objectList(await world.ok("registry.ReposService/ListRepos", { name }), "repos")[0] ?? {}, "uid");
const historyOf = async (repo: string): Promise<unknown> => {
  const [tag] = objectList(await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo } }), "tags");
  return (await world.ok("gantry.registry.v1.TagHistoryService/GetTagHistory", { tagUid: text(tag ?? {}, "uid") })).entries;
};

test("a repo is restored with tags, their history, manifests and all layers, which garbage collection keeps", async () => {
  const path = "first-organization/kept";
  await push(path, "1", randomBytes(1000));
  const shared = randomBytes(2000);
  await push(path, "1", shared);
  await push("first-organization/beside", "1", shared);
  const repo = await repoOf("kept");
  // Garbage of a duplicate upload.
  await collectAll();
  const [history, bytes, contents] = [await historyOf(repo), await countBytes(), await countContents()];
  const deletion = await remove("registry.ReposService/DeleteRepo", repo);
  await assert.rejects(client.pull(path, "1"), /404/);
  world.clock.now += limits.blobLeaseMs + day;
  await collectAll();
  assert.equal(await countContents(), contents, "what could come back stays");
  assert.equal(await countBytes(), bytes, "and counts as its organization's");
  await undelete(deletion);
  assert.equal((await client.pull(path, "1")).blobs.length, 2);
  assert.deepEqual(await historyOf(repo), history);
  assert.equal(await countBytes(), bytes);
  await collectAll();
  await client.pull(path, "1");
});

test("permanently deleting a repo releases its unshared layers to garbage collection, and its bytes from the organization's quota", async () => {
  const path = "first-organization/expunged";
  const shared = randomBytes(3000);
  await push("first-organization/holds", "1", shared);
  await collectAll();
  const [bytes, contents] = [await countBytes(), await countContents()];
  await push(path, "1", shared);
  await push(path, "2", randomBytes(4000));
  const deletion = await remove("registry.ReposService/DeleteRepo", await repoOf("expunged"));
  assert.ok((await countBytes()) > bytes);
  await world.ok(`${deletions}/ExpungeDeletion`, { uid: deletion });
  assert.equal(await countBytes(), bytes);
  assert.equal(await countKept(deletion), 0);
  world.clock.now += limits.blobLeaseMs + day;
  await collectAll();
  assert.equal(await countContents(), contents);
  await client.pull("first-organization/holds", "1");
  const told = (await world.events()).at(-1);
  assert.deepEqual([told?.type, told?.subject], ["dev.gantry.deletions.deletion.expunged.v1", deletion]);
});

test("deleting a repo and pushing again does not circumvent the byte quota", async () => {
  const path = "first-organization/full";
  await push(path, "1", randomBytes(50_000));
  const used = await countBytes();
  await setQuota(world.organization, "blob-bytes", used + 10_000);
  const deletion = await remove("registry.ReposService/DeleteRepo", await repoOf("full"));
  await assert.rejects(push(path, "1", randomBytes(50_000)), /403/);
  assert.equal(await repoOf("full"), "");
  // A deleted repo keeps counting, so restoring it needs no quota.
  await undelete(deletion);
  await client.pull(path, "1");
  await setQuota(world.organization, "blob-bytes", 1_000_000_000);
});

test("a deleted manifest's tags are not restorable, because the digest can be pushed again", async () => {
  const path = "first-organization/manifests";
  const digest = await push(path, "1", randomBytes(100));
  const count = (await world.ok(`${deletions}/ListDeletions`, {})).totalCount;
  const answer = await client.request("DELETE", `/v2/${path}/manifests/${digest}`);
  assert.equal(answer.status, 202);
  assert.equal((await world.ok(`${deletions}/ListDeletions`, {})).totalCount, count);
});

// ---- secrets ---------------------------------------------------------------------------------------------------------

test("secrets are kept encrypted and decrypt after a restore; secrets shown only once are not kept", async () => {
  const { seal } = world.server.application.services;
  const made = await world.ok("events.SubscriptionsService/CreateSubscription", {
    parent: world.organization,
    subscription: { sink: "https://hooks.example.com/" },
  });
  const uid = text(made, "uid");
  const deletion = await remove("events.SubscriptionsService/DeleteSubscription", uid);
  const [kept] = await store().read.query("select string_agg(content::text, ' ') from deleted_rows");
  assert.ok(!kept?.[0]?.includes(text(made, "secret")));
  await undelete(deletion);
  const sealed = await findSubscriptionSecret(store().read, uid);
  assert.equal(seal.open(subscriptionSecretPurpose, sealed, subscriptionSecretBinding(uid)), text(made, "secret"));

  const provider = text(
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: world.organization,
      identityProvider: {
        name: "ours",
        defaultRole: builtInRoleUid("viewer"),
        oidc: { issuer: "https://idp.example.com", clientId: "us", clientSecret: "very secret" },
      },
    }),
    "uid",
  );
  await world.ok("iam.IdentityProvidersService/GenerateScimToken", { identityProviderUid: provider });
  const [before] = await store().read.query("select client_secret_sealed, scim_token_hash from identity_providers where uid = $1", [provider]);
  await undelete(await remove("iam.IdentityProvidersService/DeleteIdentityProvider", provider));
  const [back] = await store().read.query("select client_secret_sealed, scim_token_hash, scim_enabled from identity_providers where uid = $1", [provider]);
  assert.ok(before?.[1]);
  assert.deepEqual(back, [before?.[0], null, "f"]);
});

// ---- conflicts -------------------------------------------------------------------------------------------------------

test("a child cannot be restored without its parent, and can after its parent is restored", async () => {
  const team = await makeFolder();
  const repo = await makeRepo("app", team);
  const inner = await remove("registry.ReposService/DeleteRepo", repo);
  const outer = await remove("iam.GroupsService/DeleteGroup", team);
  const { code, message } = await world.call(`${deletions}/UndeleteDeletion`, { uid: inner });
  assert.equal(code, codes.FAILED_PRECONDITION);
  assert.equal(message, `Precondition failed: cannot undelete repo: its parent ${team} no longer exists`);
  await undelete(outer);
  await undelete(inner);
  assert.equal(text(await world.ok("registry.ReposService/GetRepo", { uid: repo }), "name"), "app");
});

test("restoring a binding without its role is refused by name; among other resources it is left out", async () => {
  const team = await makeFolder();
  const role = text(
    await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "brief", capabilities: ["CAP_REPO_LIST"] } }),
    "uid",
  );
  const someone = await createIdentity(world, world.organization, "somebody", claimMatch);
  const bind = async (identityUid: string): Promise<string> =>
    text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding: { identityUid, roleUid: role } }), "uid");
  const alone = await remove("iam.RoleBindingsService/DeleteRoleBinding", await bind(someone));
  const along = await bind(someone);
  const identity = await remove("iam.IdentitiesService/DeleteIdentity", someone);
  await world.ok("iam.RolesService/DeleteRole", { uid: role });
  const { leftOut, leftOutCount } = await undelete(identity);
  assert.equal(leftOutCount, "1");
  const words = `roleUid ${role} must be a built-in role, or one of this group or of one above it`;
  assert.deepEqual(leftOut, [{ resourceType: "chainguard.platform.iam.v2.RoleBinding", resourceUid: along, reason: words }]);
  const { code, message } = await world.call(`${deletions}/UndeleteDeletion`, { uid: alone });
  assert.equal(code, codes.FAILED_PRECONDITION);
  assert.equal(message, `Precondition failed: cannot undelete role binding: ${words}`);
});

test("a restore counts against quotas: a full organization is refused", async () => {
  const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "small" } }), "uid");
  await setQuota(root, "repos", 1);
  const deletion = await remove("registry.ReposService/DeleteRepo", await makeRepo("one", root));
  const two = await makeRepo("two", root);
  const answer = await world.call(`${deletions}/UndeleteDeletion`, { uid: deletion });
  assert.equal(answer.code, codes.RESOURCE_EXHAUSTED);
  assert.match(answer.message, /quota repos/);
  await world.ok("registry.ReposService/DeleteRepo", { uid: two });
  await undelete(deletion);
});

test("a suspended organization is restored suspended, and a group gets its organization's current state", async () => {
  const root = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "stopped" } }), "uid");
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: root, group: { name: "team" } }), "uid");
  const inner = await remove("iam.GroupsService/DeleteGroup", team);
  const suspend = (status: string) =>
    store().write(async (rows) => void (await (await plant(rows)).query("update groups set status = $2 where uid = $1", [root, status])));
  await suspend("ORG_STATUS_SUSPENDED");
  await undelete(await remove("iam.GroupsService/DeleteGroup", root));
  assert.equal((await world.ok("iam.GroupsService/GetGroup", { uid: root })).status, "ORG_STATUS_SUSPENDED");
  await undelete(inner);
  assert.equal((await world.ok("iam.GroupsService/GetGroup", { uid: team })).status, "ORG_STATUS_SUSPENDED");
});

// ---- time ------------------------------------------------------------------------------------------------------------

test("a row deleted before a migration is restored under the later schema, with the default of a new column", async () => {
  const repo = await makeRepo("migrated");
  const deletion = await remove("registry.ReposService/DeleteRepo", repo);
  await asOwner(world.databaseUrl, "alter table repos add column planted_here text not null default 'as new'");
  // A column that was dropped since then.
  await asOwner(world.databaseUrl, `update deleted_rows set content = content || '{"dropped_since": 1}' where deletion_uid = $1`, [deletion]);
  await undelete(deletion);
  assert.deepEqual(await store().read.query("select name, planted_here from repos where uid = $1", [repo]), [["migrated", "as new"]]);
  await asOwner(world.databaseUrl, "alter table repos drop column planted_here");
});

test("expired rows are removed in batches, and others stay", async () => {
  const team = await makeFolder();
  const deletion = await remove("iam.GroupsService/DeleteGroup", team);
  const rowsKept = 2500;
  await store().write((rows) =>
    rows.query("insert into deleted_rows (deletion_uid, table_name, content) select $1, 'groups', '{}' from generate_series(1, $2::int)", [deletion, rowsKept]),
  );
  world.clock.now += 29 * day;
  const later = await remove("registry.ReposService/DeleteRepo", await makeRepo("later"));
  world.clock.now += 2 * day;
  while ((await deletionsRetention.deleteExpired(store(), world.clock.now - 2 * day, defaultPeriods)).more);
  assert.ok((await countKept(deletion)) > rowsKept);
  let [pieces, last] = [0, await countKept(deletion)];
  for (;;) {
    const { more } = await deletionsRetention.deleteExpired(store(), world.clock.now, defaultPeriods);
    const left = await countKept(deletion);
    assert.ok(last - left <= limits.retentionRowsMax, "no piece is larger");
    [pieces, last] = [pieces + 1, left];
    if (!more) break;
  }
  assert.ok(pieces > 3);
  assert.equal(await deletionOf(team), "");
  assert.ok((await countKept(later)) > 0);
  await runMaintenance(world.server.application.kernel);
  assert.ok((await countKept(later)) > 0);
});

test("with a retention of zero nothing is kept", async () => {
  const without = await openWorld({ GANTRY_DELETED_DAYS: "0" });
  try {
    const { uid } = await without.ok("registry.ReposService/CreateRepo", { parent: without.organization, repo: { name: "app" } });
    await without.ok("registry.ReposService/DeleteRepo", { uid: String(uid) });
    assert.equal((await without.ok(`${deletions}/ListDeletions`, {})).totalCount, "0");
    assert.deepEqual(await without.server.application.services.store.read.query("select count(*) from deleted_rows"), [["0"]]);
  } finally {
    await without.close();
  }
});

// ---- size ------------------------------------------------------------------------------------------------------------

const rowsOfRepo = shortOrLong(2, 20) * limits.keptRowsPage + 7;

test(`a repo with ${rowsOfRepo} rows without events is restored whole or permanently deleted by statements of bounded size`, async () => {
  const repo = await makeRepo("large");
  await store().write(async (rows) =>
    (await plant(rows)).query(
      `insert into tag_history (repo_uid, name, digest, start_time)
       select $1, 'latest', lpad(to_hex(each), 64, '0'), now() from generate_series(1, $2::int) as each`,
      [repo, rowsOfRepo],
    ),
  );
  await asOwner(world.databaseUrl, "create table planted_statements (what text, count bigint)");
  await asOwner(world.databaseUrl, "grant insert, select on planted_statements to public");
  await asOwner(
    world.databaseUrl,
    `create function planted_count() returns trigger language plpgsql as $$ begin
       insert into planted_statements select tg_op, count(*) from changed; return null; end $$`,
  );
  const watch = "for each statement execute function planted_count()";
  await asOwner(world.databaseUrl, `create trigger planted_back after insert on tag_history referencing new table as changed ${watch}`);
  await asOwner(world.databaseUrl, `create trigger planted_removed after delete on deleted_rows referencing old table as changed ${watch}`);
  const statements = async (what: string): Promise<{ readonly largest: number; readonly all: number }> => {
    const [row] = await store().read.query("select max(count), sum(count) from planted_statements where what = $1", [what]);
    return { largest: Number(row?.[0]), all: Number(row?.[1]) };
  };
  const history = (): Promise<unknown> =>
    store().read.query("select md5(string_agg(id || digest, ',' order by id)) from tag_history where repo_uid = $1", [repo], { rows: 1, wide: true });
  try {
    const before = await history();
    await undelete(await remove("registry.ReposService/DeleteRepo", repo));
    assert.deepEqual(await history(), before);
    const [back, removed] = [await statements("INSERT"), await statements("DELETE")];
    assert.deepEqual(
      [back, removed],
      [
        { largest: limits.keptRowsPage, all: rowsOfRepo },
        { largest: limits.keptRowsPage, all: rowsOfRepo + 1 },
      ],
    );
    const deletion = await remove("registry.ReposService/DeleteRepo", repo);
    await world.ok(`${deletions}/ExpungeDeletion`, { uid: deletion });
    assert.equal(await countKept(deletion), 0);
    assert.deepEqual(await statements("DELETE"), { largest: limits.keptRowsPage, all: 2 * (rowsOfRepo + 1) });
  } finally {
    await asOwner(world.databaseUrl, "drop trigger planted_back on tag_history");
    await asOwner(world.databaseUrl, "drop trigger planted_removed on deleted_rows");
  }
});

const bindings = shortOrLong(300, limits.deletedRowsMax);

test(`a group is restored with ${bindings} bindings in one transaction, with an event each`, async () => {
  const team = await makeFolder();
  const identity = await createIdentity(world, world.organization, "many", claimMatch);
  await store().write(async (rows) =>
    (await plant(rows)).query(
      `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
       select $1 || '/' || lpad(to_hex(each), 16, '0'), case when each = 1 then $2 else lpad(to_hex(each), 40, '0') end, $3, now(), now()
       from generate_series(1, $4::int) as each`,
      [team, identity, builtInRoleUid("viewer"), bindings],
    ),
  );
  const deletion = await remove("iam.GroupsService/DeleteGroup", team);
  const told = (await world.events()).length;
  await undelete(deletion);
  assert.equal((await world.events()).length - told, bindings + 2);
  const [row] = await store().read.query("select count(*) from role_bindings where uid > $1 and uid < $2", [`${team}/`, `${team}0`]);
  assert.equal(Number(row?.[0]), bindings);
});
