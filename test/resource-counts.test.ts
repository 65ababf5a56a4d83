// Counts and grants of one connection, that is, one slot.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits, organizationQuotas } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { findResourceCounts, migrate, openStore, type Store } from "#db";
import { exceededQuota } from "../server/db/resource-counts.ts";
import { asOwner, emptyDatabase, freshDatabase } from "./database.ts";
import { deleteScimUser, insertScimMembers, insertScimUser, writeScimRemoval } from "#iam/store";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const insert = "insert into repos (uid, name, create_time, update_time) values ($1, $1, now(), now())";

const setQuota = (organization: string, value: number): Promise<unknown> =>
  asOwner(database.url, "insert into quotas (organization, name, value) values ($1, 'repos', $2)", [organization, value]);

const total = async (organization: string): Promise<{ rows: number; grants: number }> => {
  const [[rows, grants] = []] = await store.read.query("select sum(row_count), sum(granted) from resource_counts where organization = $1", [organization]);
  return { rows: Number(rows), grants: Number(grants) };
};

/** Returns false if the quota is exceeded. */
const make = async (organization: string, count: number): Promise<boolean> => {
  try {
    await store.write(async (rows) => {
      for (let index = 0; index < count; index++) await rows.query(insert, [newChild(organization)]);
    });
    return true;
  } catch (thrown) {
    assert.notEqual(exceededQuota(thrown), undefined, String(thrown));
    return false;
  }
};

test("one slot creates exactly as many rows as the quota, in transactions of any size, and rows plus grants never exceed it", async () => {
  const organization = newRoot();
  const quota = 1_000;
  await setQuota(organization, quota);
  let made = 0;
  let grantsSeen = 0;
  for (let round = 0; made < quota && round < quota; round++) {
    const count = 1 + ((round * 7) % limits.batchMax);
    if (await make(organization, count)) made += count;
    else {
      assert.ok(made + count > quota, `${count} were refused at ${made}`);
      while (made <= quota && (await make(organization, 1))) made++;
    }
    const { rows, grants } = await total(organization);
    assert.equal(rows, made);
    assert.ok(rows + grants <= quota, `${rows} rows and ${grants} granted`);
    grantsSeen = Math.max(grantsSeen, grants);
  }
  assert.ok(grantsSeen >= limits.batchMax, `at most ${grantsSeen} were granted`);
  assert.equal(made, quota);
  assert.equal(await make(organization, 1), false);
});

test("a rollback uses nothing up", async () => {
  const organization = newRoot();
  await make(organization, 1);
  const earlier = await total(organization);
  await assert.rejects(
    store.write(async (rows) => {
      for (let index = 0; index < 10; index++) await rows.query(insert, [newChild(organization)]);
      throw new Error("no");
    }),
  );
  assert.deepEqual(await total(organization), earlier);
});

test("a connection without quota settings is counted but not limited; a connection with them has the quotas of base/limits.ts", async () => {
  const organization = newRoot();
  const many = organizationQuotas.subscriptions + 1;
  await asOwner(
    database.url,
    `insert into subscriptions (uid, sink, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), 'https://sink.example.com', now(), now() from generate_series(1, ${many}) as n`,
    [organization],
  );
  assert.deepEqual([...(await findResourceCounts(store.read, organization))], [["subscriptions", many]]);
  const [refused] = await Promise.allSettled([
    store.write((rows) =>
      rows.query("insert into subscriptions (uid, sink, create_time, update_time) values ($1, 'https://sink.example.com', now(), now())", [
        newChild(organization),
      ]),
    ),
  ]);
  assert.deepEqual(refused.status === "rejected" && exceededQuota(refused.reason), { name: "subscriptions", value: organizationQuotas.subscriptions });
});

test("rows of several organizations in one statement are counted for each, root rows for none", async () => {
  const [one, other] = [newRoot(), newRoot()];
  const uids = [newChild(one), newChild(other), newChild(other), newRoot()];
  await store.write((rows) =>
    rows.query("insert into identities (uid, name, create_time, update_time) select uid, uid, now(), now() from unnest($1::text[]) as each(uid)", [uids]),
  );
  assert.deepEqual(
    [[...(await findResourceCounts(store.read, one))], [...(await findResourceCounts(store.read, other))]],
    [[["identities", 1]], [["identities", 2]]],
  );
  await store.write((rows) => rows.query("delete from identities where uid = any($1)", [uids]));
  assert.deepEqual([(await total(one)).rows, (await total(other)).rows], [0, 0]);
  const roots = await store.read.query("select organization from resource_counts where organization = $1", [uids[3] ?? ""]);
  assert.deepEqual(roots, []);
});

const newScimUser = (identityProviderUid: string) => {
  const uid = newChild(identityProviderUid);
  const keys = { userName: uid, displayName: "", emails: [] };
  return { ...keys, uid, identityProviderUid, externalId: undefined, identityUid: undefined, active: true, document: "{}", nowMs: Date.now() };
};

test("beyond a lowered quota, deleting SCIM rows one by one leaves no grants that another transaction can use", async () => {
  const organization = newRoot();
  const identityProvider = newChild(organization);
  const users = Array.from({ length: 60 }, () => newScimUser(identityProvider));
  const group = newChild(identityProvider);
  const uids = users.map(({ uid }) => uid);
  await store.write(async (rows) => {
    for (const user of users) await insertScimUser(rows, user);
    await insertScimMembers(rows, group, uids);
  });
  for (const name of ["scim-users", "scim-members"])
    await asOwner(database.url, "insert into quotas (organization, name, value) values ($1, $2, 10)", [organization, name]);
  await asOwner(database.url, "update resource_counts set granted = 0 where organization = $1", [organization]);
  for (const uid of uids.slice(0, 40)) {
    await store.write((rows) => deleteScimUser(rows, uid));
    await store.write((rows) => rows.query("delete from scim_members where user_uid = $1", [uid]));
  }
  // Run by the connection that deleted.
  const refusedBy = async (work: Parameters<typeof store.write>[0]): Promise<unknown> => {
    const [written] = await Promise.allSettled([store.write(work)]);
    return written.status === "rejected" && exceededQuota(written.reason);
  };
  const removal = { ...newScimUser(identityProvider), externalId: "left" };
  assert.deepEqual(await refusedBy((rows) => insertScimUser(rows, newScimUser(identityProvider))), { name: "scim-users", value: 10 });
  assert.deepEqual(await refusedBy((rows) => writeScimRemoval(rows, removal)), { name: "scim-users", value: 10 });
  assert.deepEqual(await refusedBy((rows) => insertScimMembers(rows, newChild(identityProvider), uids.slice(-1))), { name: "scim-members", value: 10 });
});

test("the migration counts existing SCIM rows, with removals as users, and later deletions are subtracted", async () => {
  const old = await emptyDatabase();
  try {
    await migrate(old.ownerUrl, { progress: () => {}, until: 31 });
    const [one, other] = ["a".repeat(40), "b".repeat(40)];
    await asOwner(
      old.url,
      `insert into scim_users (uid, identity_provider_uid, active, user_name, document, create_time, update_time)
       select idp || '/' || lpad(to_hex(n), 16, '0'), idp, true, 'user-' || n, '{}', now(), now()
       from (values ($1 || '/0123456789abcdef'), ($1 || '/0123456789abcdef/0123456789abcdef'), ($2 || '/0123456789abcdef')) as each(idp),
         generate_series(1, 3) as n`,
      [one, other],
    );
    await asOwner(
      old.url,
      `insert into scim_groups (uid, identity_provider_uid, mapped_as, display_name, document, create_time, update_time)
       values ($1 || '/0123456789abcdef/0123456789abcdef', $1 || '/0123456789abcdef', 'team', 'team', '{}', now(), now())`,
      [one],
    );
    await migrate(old.ownerUrl, { progress: () => {}, until: 32 });
    const [first, second] = [`${one}/0123456789abcdef`, `${other}/0123456789abcdef`];
    await asOwner(
      old.url,
      `insert into scim_removals (identity_provider_uid, external_id, remove_time)
       values ($1, 'left', now()), ($1, 'left too', now()), ($1 || '/0123456789abcdef', 'left', now()), ($2, 'left', now())`,
      [first, second],
    );
    await asOwner(
      old.url,
      "insert into scim_members (group_uid, user_uid) select $1 || '/0123456789abcdef', uid from scim_users where identity_provider_uid = $1",
      [first],
    );
    await migrate(old.ownerUrl, { progress: () => {} });
    const counts = (): ReturnType<typeof asOwner> =>
      asOwner(old.url, "select left(organization, 1), resource, sum(row_count) from resource_counts where resource like 'scim%' group by 1, 2 order by 1, 2");
    assert.deepEqual(await counts(), [
      ["a", "scim_groups", "1"],
      ["a", "scim_members", "3"],
      ["a", "scim_users", "9"],
      ["b", "scim_users", "4"],
    ]);
    await asOwner(old.url, "delete from scim_users where user_name = 'user-1'");
    await asOwner(old.url, "delete from scim_groups");
    await asOwner(old.url, "delete from scim_members where user_uid like '%1'");
    await asOwner(old.url, "delete from scim_removals where external_id = 'left'");
    assert.deepEqual(await counts(), [
      ["a", "scim_groups", "0"],
      ["a", "scim_members", "2"],
      ["a", "scim_users", "5"],
      ["b", "scim_users", "2"],
    ]);
  } finally {
    await old.drop();
  }
});
