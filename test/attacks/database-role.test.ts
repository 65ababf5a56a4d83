// Attack 42: what an attacker can do with the server's database connection (an injected statement, a stolen DATABASE_URL). Rows of the API can
// be changed; log entries, tables, roles, files and programs cannot.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { sqlState } from "#db";
import { sealAudit, verifyLogs } from "../audit.ts";
import { asOwner, everyRow } from "../database.ts";
import { openWorld, type World } from "../world.ts";

const insufficientPrivilege = "42501";
const invalidParameter = "22023";
const notInPrerequisiteState = "55000";

let world: World;
let client: pg.Client;
let month: string;
before(async () => {
  world = await openWorld();
  await sealAudit(world);
  client = new pg.Client({ connectionString: world.databaseUrl });
  await client.connect();
  month = new Date(world.clock.now).toISOString().slice(0, 7);
});
after(async () => {
  await client?.end();
  await world?.close();
});

/** Returns the SQLSTATE of each statement's error, "" for success. */
const statesOf = async (statements: readonly string[]): Promise<Record<string, string>> => {
  const states: Record<string, string> = {};
  for (const statement of statements) {
    try {
      await client.query(statement);
      states[statement] = "";
    } catch (error) {
      states[statement] = sqlState(error);
    }
  }
  return states;
};

const refusedWith = async (state: string, statements: readonly string[]): Promise<void> => {
  assert.deepEqual(await statesOf(statements), Object.fromEntries(statements.map((statement) => [statement, state])));
};

const partition = (): string => `audit_entries_${month.replace("-", "_")}`;
const ownerRole = async (): Promise<string> => (await asOwner(world.databaseUrl, "select quote_ident(current_user)"))[0]?.[0] ?? "";

test("the server's role is no superuser, owns nothing and is a member of no role", async () => {
  const { rows } = await client.query(`
    select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as special,
      exists (select from pg_class where relowner = pg_roles.oid) as owns, exists (select from pg_auth_members where member = pg_roles.oid) as member
    from pg_roles where rolname = current_user`);
  assert.deepEqual(rows, [{ special: false, owns: false, member: false }]);
});

test("attack 42: the server's role cannot change or remove log entries, through partitions and triggers neither", async () => {
  const kept = await everyRow(world.databaseUrl);
  assert.ok((kept.get("audit_entries")?.length ?? 0) > 0);
  await refusedWith(insufficientPrivilege, [
    "update audit_entries set caller_uid = ''",
    "delete from audit_entries",
    "truncate audit_entries",
    "drop table audit_entries",
    "insert into audit_entries select * from audit_entries on conflict (uid, seal_time) do update set hash = ''",
    `select * from ${partition()}`,
    `update ${partition()} set caller_uid = ''`,
    `delete from ${partition()}`,
    `truncate ${partition()}`,
    `drop table ${partition()}`,
    `alter table audit_entries detach partition ${partition()}`,
    "alter table audit_entries rename to other",
    "alter table audit_entries disable trigger all",
    "delete from audit_chains",
    "truncate audit_chains",
    "drop table audit_chains",
    "delete from audit_progress",
    "truncate audit_progress",
    "drop table audit_progress",
    "update audit_retention set months = 1",
    "insert into audit_retention (one, months) values (true, 1)",
    "delete from audit_retention",
    "truncate audit_retention",
    "drop table audit_retention",
  ]);
  assert.deepEqual(await everyRow(world.databaseUrl), kept);
  assert.equal((await verifyLogs(world)).whole, true);
});

test("the server's role cannot create, change or drop migrations, tables, triggers, functions or schemas", async () => {
  const kept = await everyRow(world.databaseUrl);
  await refusedWith(insufficientPrivilege, [
    "update schema_migrations set sha256 = ''",
    "insert into schema_migrations (number, name, sha256, compatible) values (9, '', '', true)",
    "delete from schema_migrations",
    "truncate schema_migrations",
    "drop table schema_migrations",
    "truncate groups",
    "drop table groups cascade",
    "alter table groups add column planted text",
    "alter table groups disable trigger all",
    "alter table groups owner to current_user",
    "create trigger planted after insert on groups for each row execute function groups_changed()",
    "drop trigger groups_changed on groups",
    "create index planted on groups (name)",
    "drop index groups_by_name",
    "create table planted ()",
    "create temporary table planted ()",
    "create view planted as select 1",
    "create sequence planted",
    "create type planted as (one text)",
    "create schema planted",
    "create function planted() returns void language sql as 'select 1'",
    "create or replace function drop_audit_month(month text) returns void language sql as 'select 1'",
    "alter function drop_audit_month(text) reset search_path",
    "drop function drop_audit_month(text)",
    "do $$ begin execute 'drop table audit_entries'; end $$",
    "set session_replication_role = replica",
    "delete from access_versions",
    "update advisory_facets set artifact_type = ''",
  ]);
  assert.deepEqual(await everyRow(world.databaseUrl), kept);
});

test("the server's role cannot become or grant another role, nor reach files, programs or PostgreSQL settings", async () => {
  const owner = await ownerRole();
  const { rows } = await client.query<{ role: string; database: string }>(
    "select quote_ident(current_user) as role, quote_ident(current_database()) as database",
  );
  const { role, database } = rows[0] ?? assert.fail();
  await refusedWith(insufficientPrivilege, [
    `set role ${owner}`,
    `set session authorization ${owner}`,
    `alter role ${role} superuser`,
    `alter role ${role} createrole`,
    `alter role ${owner} password 'planted'`,
    "create role planted",
    `drop role ${owner}`,
    `grant ${owner} to ${role}`,
    "grant pg_read_server_files to current_user",
    `alter default privileges for role ${owner} grant all on tables to public`,
    "copy audit_entries to program 'id'",
    "copy groups from program 'id'",
    "copy audit_entries to '/tmp/planted'",
    "copy groups from '/etc/passwd'",
    "select pg_read_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select lo_import('/etc/passwd')",
    "select * from pg_authid",
    "select * from pg_hba_file_rules",
    "select pg_reload_conf()",
    "alter system set fsync = off",
    `alter database ${database} set search_path = 'planted'`,
    `drop database ${database}`,
  ]);
});

test("partitions are created and dropped by month name only, and never dropped within retention by the database's clock", async () => {
  const kept = await everyRow(world.databaseUrl);
  const noMonths = [
    "",
    "2026",
    "2026-13",
    "2026-00",
    "2026-1",
    "26-11",
    "2026-11-01",
    " 2026-11",
    "2026-11 ",
    "2026-11\n",
    "groups",
    "2026-11; drop table groups",
    `2026-11"`,
  ];
  for (const name of ["create_audit_month", "drop_audit_month"])
    await refusedWith(
      invalidParameter,
      noMonths.map((text) => `select ${name}('${text}')`),
    );
  const ago = (months: number): string => {
    const [year = 0, ordinal = 0] = month.split("-").map(Number);
    return new Date(Date.UTC(year, ordinal - 1 - months)).toISOString().slice(0, 7);
  };
  for (let months = 0; months <= 24; months++) await client.query(`select create_audit_month('${ago(months)}')`);
  // Thirteen including the current month, and future months.
  await refusedWith(
    notInPrerequisiteState,
    Array.from({ length: 16 }, (_, index) => `select drop_audit_month('${ago(index - 3)}')`),
  );
  for (let months = 13; months <= 24; months++) await client.query(`select drop_audit_month('${ago(months)}')`);
  for (let months = 1; months <= 12; months++) await asOwner(world.databaseUrl, `drop table audit_entries_${ago(months).replace("-", "_")}`);
  assert.deepEqual(await everyRow(world.databaseUrl), kept);
});

test("a caller's temporary table cannot change the log retention that an owner's function reads", async () => {
  // This installation left open a privilege that the guide revokes.
  await asOwner(world.databaseUrl, "do $$ begin execute format('grant temporary on database %I to public', current_database()); end $$");
  const other = new pg.Client({ connectionString: world.databaseUrl });
  await other.connect();
  try {
    await other.query("create temporary table audit_retention (months integer); insert into audit_retention values (1); set search_path = pg_temp, public");
    await other.query("select create_audit_month('2026-01')");
    const { rows } = await other.query("select count(*)::int as mine from audit_retention where months = 1");
    assert.deepEqual(rows, [{ mine: 1 }]);
    const last = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 2)).toISOString().slice(0, 7);
    await assert.rejects(other.query(`select drop_audit_month('${last}')`), (error) => sqlState(error) === notInPrerequisiteState);
  } finally {
    await other.end();
    await asOwner(world.databaseUrl, "do $$ begin execute format('revoke temporary on database %I from public', current_database()); end $$");
  }
});

test("the server's role can collect statistics of import tables only", async () => {
  await client.query("select refresh_import_statistics('advisories')");
  await refusedWith(
    invalidParameter,
    ["audit_entries", "groups", "pg_class", "", "advisories; drop table groups"].map((name) => `select refresh_import_statistics('${name}')`),
  );
});
