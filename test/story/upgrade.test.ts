// The upgrade of a database of the first release by a start: no data is lost, and all of it can be read.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { operatorUid } from "#authz";
import { isObject } from "#base/json.ts";
import { bindSealed, vaultOf } from "#store";
import pg from "pg";
import { migrationsDirectory, readMigrations } from "../../server/store/migration-files.ts";
import { migrate } from "../../server/store/migrate.ts";
import { verifyLogs } from "../audit.ts";
import { baselinePath, baselineSecretKey, baselineTimeMs } from "../baseline.ts";
import { freshDatabase } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { readAll } from "./import.ts";

const baselineName = "0001_baseline.sql";

let folder: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;
let world: World;
/** The baseline's encrypted values, by column and key. */
let sealedBefore: ReadonlyMap<string, string>;
let rowsBefore: ReadonlyMap<string, number>;

const countRows = async (): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'schema_migrations'`);
  const counts = new Map<string, number>();
  for (const { name } of rows) {
    const { rows: counted } = await client.query<{ count: number }>(`select count(*)::int as count from ${name}`);
    counts.set(name, counted[0]?.count ?? 0);
  }
  return counts;
};

/** The encrypted columns that are bound to their row: location and binding. */
const sealedColumns = [
  ["signing_keys", "kid", "private_jwk_sealed", "signing-key", "array[kid]"],
  ["identity_providers", "uid", "client_secret_sealed", "client secret", "array[uid, oidc ->> 'issuer', oidc ->> 'clientId']"],
  ["subscriptions", "uid", "secret_sealed", "subscription secret", "array[uid]"],
  ["subscriptions", "uid", "previous_secret_sealed", "subscription secret", "array[uid]"],
] as const;

const readSealed = async (): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const [table, key, column] of sealedColumns) {
    const { rows } = await client.query<{ key: string; sealed: string }>(`select ${key} as key, ${column} as sealed from ${table} where ${column} <> ''`);
    for (const { key: of, sealed } of rows) found.set(`${table}.${column} ${of}`, sealed);
  }
  return found;
};

const unbind = async (): Promise<void> => {
  for (const [table, key, column] of sealedColumns)
    for (const [where, sealed] of sealedBefore) {
      const [of, uid] = where.split(" ");
      if (of === `${table}.${column}`) await client.query(`update ${table} set ${column} = $1 where ${key} = $2`, [sealed, uid]);
    }
};

const openSealed = async (): Promise<(string | undefined)[]> => {
  const opened: (string | undefined)[] = [];
  for (const [table, , column, purpose, boundTo] of sealedColumns) {
    const { rows } = await client.query<{ sealed: string; bound: string[] }>(
      `select ${column} as sealed, ${boundTo} as bound from ${table} where ${column} <> ''`,
    );
    for (const { sealed, bound } of rows) opened.push(world.server.application.services.seal.open(purpose, sealed, bound));
  }
  return opened;
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-upgrade-"));
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query("drop schema public cascade; create schema public");
  const baselineAlone = join(folder, "migrations");
  cpSync(join(migrationsDirectory, baselineName), join(baselineAlone, baselineName));
  await migrate(database.ownerUrl, { progress: () => {}, directory: baselineAlone });
  await client.query(readFileSync(baselinePath, "utf8"));
  rowsBefore = await countRows();
  sealedBefore = await readSealed();
  const key = join(folder, "secret.key");
  writeFileSync(key, baselineSecretKey, { mode: 0o600 });
  world = await openWorld(
    { DATABASE_URL: database.url, GANTRY_MIGRATE_URL: database.ownerUrl, GANTRY_SECRET_KEY_FILE: key },
    undefined,
    baselineTimeMs + 60 * 60 * 1000,
  );
});
after(async () => {
  await world?.close();
  await client?.end();
  await database?.drop();
  rmSync(folder, { recursive: true });
});

test("the fixture has rows in every table of the baseline", () => {
  assert.ok(rowsBefore.size > 40, `only ${rowsBefore.size} tables`);
  for (const [table, count] of rowsBefore) assert.ok(count > 0, `${table} has no row: make one in test/baseline.ts`);
});

test("a start applies every migration and loses no row", async () => {
  const { rows } = await client.query<{ name: string }>("select name from schema_migrations order by number");
  assert.deepEqual(
    rows.map(({ name }) => name),
    (await readMigrations()).map(({ name }) => name),
  );
  const now = await countRows();
  for (const [table, count] of rowsBefore)
    if (now.has(table)) assert.ok((now.get(table) ?? 0) >= count, `${table} had ${count} rows and has ${now.get(table)}`);
});

for (const [method, plural, table] of [
  ["iam.GroupsService/ListGroups", "groups", "groups"],
  ["iam.IdentitiesService/ListIdentities", "identities", "identities"],
  ["iam.RolesService/ListRoles", "roles", "roles"],
  ["iam.RoleBindingsService/ListRoleBindings", "roleBindings", "role_bindings"],
  ["iam.GroupInvitesService/ListGroupInvites", "groupInvites", "group_invites"],
  ["iam.IdentityProvidersService/ListIdentityProviders", "identityProviders", "identity_providers"],
  ["iam.ExternalGroupRoleMappingsService/ListExternalGroupRoleMappings", "externalGroupRoleMappings", "external_group_role_mappings"],
  ["iam.AccountAssociationsService/ListAccountAssociations", "accountAssociations", "account_associations"],
  ["registry.ReposService/ListRepos", "repos", "repos"],
  ["registry.TagsService/ListTags", "tags", "tags"],
  ["events.SubscriptionsService/ListSubscriptions", "subscriptions", "subscriptions"],
  ["vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", "advisories"],
  ["gantry.events.v1.DeliveriesService/ListDeliveries", "deliveries", "deliveries"],
  ["gantry.audit.v1.AuditService/ListAuditEntries", "auditEntries", "audit_entries"],
] as const)
  test(`${method} lists the existing rows`, async () => {
    const listed = await readAll(world, method, plural, {});
    const { rows } = await client.query<{ uid: string }>(`select uid from ${table}`);
    const uids = listed.filter(isObject).map(({ uid }) => String(uid));
    assert.ok(uids.length > 0);
    assert.deepEqual(uids.sort(), rows.map(({ uid }) => uid).sort());
  });

test("signing key, audit log and permissions remain valid: tokens are issued, changes are made, and the log verifies", async () => {
  const { rows } = await client.query<{ kid: string }>("select kid from signing_keys");
  assert.equal(rows.length, 1);
  const [, header = ""] = /^([^.]+)\./.exec(await world.token()) ?? [];
  assert.equal((JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as { kid: string }).kid, rows[0]?.kid);
  await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "of the present" } });
  const { whole, lines } = await verifyLogs(world);
  assert.ok(whole, lines.join("\n"));
});

test("encrypted values are bound to their rows and decrypt to the same plaintext", async () => {
  assert.deepEqual([...sealedBefore.keys()].map((where) => where.split(" ")[0]).sort(), [
    "identity_providers.client_secret_sealed",
    "signing_keys.private_jwk_sealed",
    "subscriptions.secret_sealed",
  ]);
  const now = await readSealed();
  for (const [where, sealed] of sealedBefore) {
    assert.ok(!sealed.startsWith("2."));
    assert.match(now.get(where) ?? "", /^2\./, where);
  }
  const opened = await openSealed();
  assert.ok(opened.includes("client secret") && opened.every((each) => each !== undefined));
});

test("a value in the old format cannot be decrypted until a start binds it, and of concurrent starts one binds it", async () => {
  const { store, seal } = world.server.application.services;
  const before = await openSealed();
  await unbind();
  assert.ok((await openSealed()).every((each) => each === undefined));
  await bindSealed(store, vaultOf(new Uint8Array(32)));
  assert.deepEqual(await readSealed(), sealedBefore, "what the key does not open stays");
  await Promise.all([bindSealed(store, seal), bindSealed(store, seal), bindSealed(store, seal)]);
  assert.deepEqual(await openSealed(), before);
  const bound = await readSealed();
  await bindSealed(store, seal);
  assert.deepEqual(await readSealed(), bound, "and nothing is bound twice");
});

test("a user who came through an identity provider before belongs to its organization after the upgrade", async () => {
  const { rows } = await client.query<{ of: string }>("select left(provider_uid, 40) || ' ' || identity_uid as of from provider_arrivals");
  const { rows: found } = await client.query<{ of: string }>("select organization_uid || ' ' || identity_uid as of from memberships where basis = 'provider'");
  assert.ok(rows.length > 0);
  assert.deepEqual(found, rows);
});

test("of other bound users only those with an acceptance in the log or an event become members", async () => {
  const older = await freshDatabase();
  const own = new pg.Client({ connectionString: older.ownerUrl });
  try {
    await own.connect();
    await own.query("drop schema public cascade; create schema public");
    const before = join(folder, "before memberships");
    const migrations = (await readMigrations()).filter(({ number }) => number < 4);
    for (const { name } of migrations) cpSync(join(migrationsDirectory, name), join(before, name));
    await migrate(older.ownerUrl, { progress: () => {}, directory: before });
    const [organization, other] = ["1".repeat(40), "2".repeat(40)];
    const [invited, waiting, founder, chosen, batched, bound, again] = [..."3456789"].map((digit) => digit.repeat(40));
    await own.query("select create_audit_month('2026-11')");
    for (const uid of [organization, other])
      await own.query("insert into groups (uid, name, create_time, update_time) values ($1, 'o', $2, $2)", [uid, "2026-11-01"]);
    for (const uid of [invited, waiting, founder, chosen, batched, bound])
      await own.query("insert into identities (uid, name, create_time, update_time) values ($1, 'p', $2, $2)", [uid, "2026-11-01"]);
    // Registered again after an earlier life in the log.
    await own.query("insert into identities (uid, name, create_time, update_time) values ($1, 'p', $2, $2)", [again, "2026-11-10"]);
    const bindingOf = new Map<string, string>();
    for (const [index, uid] of [invited, waiting, founder, chosen, batched, bound, again].entries()) {
      bindingOf.set(String(uid), `${organization}/${index.toString(16).padStart(16, "0")}`);
      await own.query("insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time) values ($1, $2, $3, $4, $4)", [
        bindingOf.get(String(uid)),
        uid,
        "b".repeat(40),
        "2026-11-02",
      ]);
    }
    let sequence = 0;
    const logged = (type: string, place: string, subject: unknown, caller: unknown, resources: readonly unknown[] = [], code = "OK") =>
      own.query(
        `insert into audit_entries (uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, binding_uids,
           remote_address, user_agent, request_id, event_id, resource_uids, hash)
         values ($1, $2, '2026-11-05', '2026-11-05', $3, '{}', '', $4, $5, $6, 1, '[]', '', '', '', '', $7, '')`,
        [`${place}/${(++sequence).toString(16).padStart(16, "0")}`, sequence, caller, subject, type, code, JSON.stringify(resources)],
      );
    const registered = "dev.chainguard.api.auth.registered.v1";
    const boundType = "dev.chainguard.api.iam.rolebindings.created.v1";
    const [invitedUid, waitingUid, founderUid, boundUid] = [String(invited), String(waiting), String(founder), String(bound)];
    await logged(registered, organization, invitedUid, invitedUid);
    await logged(registered, organization, again, again);
    await logged(registered, boundUid, boundUid, boundUid);
    await logged("dev.chainguard.api.iam.group.created.v1", other, other, founderUid);
    await logged("dev.chainguard.api.iam.group.created.v1", organization, organization, operatorUid);
    await logged(boundType, organization, bindingOf.get(String(chosen)), operatorUid);
    await logged(boundType, organization, bindingOf.get(boundUid), founderUid);
    await logged(boundType, organization, bindingOf.get(boundUid), operatorUid, [], "PERMISSION_DENIED");
    await logged("dev.chainguard.api.iam.rolebindings.created.batch.v1", organization, organization, operatorUid, [bindingOf.get(String(batched))]);
    await own.query(
      `insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
       values (gen_random_uuid(), $1, '', $2, $3, 'customer', '{}', '', '{}', '', '2026-11-05', '{}')`,
      [registered, waitingUid, organization],
    );
    const progress: string[] = [];
    await migrate(older.ownerUrl, { progress: (line) => progress.push(line) });
    const { rows } = await own.query<{ organization_uid: string; identity_uid: string; basis: string }>("select * from memberships order by identity_uid");
    assert.deepEqual(
      rows.map(({ organization_uid, identity_uid, basis }) => [organization_uid, identity_uid, basis]),
      [
        [organization, invited, "invite"],
        [organization, waiting, "invite"],
        [other, founder, "founding"],
        [organization, chosen, "operator"],
        [organization, batched, "operator"],
      ],
    );
    // The others' bindings become pending (decision 0067), and the migration reports it.
    assert.match(progress.join("\n"), /^3 role bindings of 3 users in 1 organizations are pending now: they grant nothing until the user accepts/m);
    const { rows: pending } = await own.query<{ organization_uid: string; identity_uid: string }>("select * from pending_memberships order by identity_uid");
    assert.deepEqual(
      pending.map(({ organization_uid, identity_uid }) => [organization_uid, identity_uid]),
      [
        [organization, founder],
        [organization, bound],
        [organization, again],
      ],
    );
    const { rows: counted } = await own.query<{ count: string }>("select sum(row_count) as count from resource_counts where resource = 'pending_memberships'");
    assert.equal(Number(counted[0]?.count), 3);
  } finally {
    await own.end();
    await older.drop();
  }
});
