// Migrations on a real database: with older servers, and outside transactions.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import pg from "pg";
import { freshDatabase } from "../../test/database.ts";
import { migrationsDirectory, readMigrations } from "./migration-files.ts";
import { migrate } from "./migrate.ts";

/** Files without a header are compatible. */
const world = async (t: TestContext, files: Record<string, string>) => {
  const database = await freshDatabase();
  const directory = mkdtempSync(join(tmpdir(), "gantry-migrations-"));
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query("drop schema public cascade; create schema public");
  t.after(async () => {
    await client.end();
    await database.drop();
    rmSync(directory, { recursive: true });
  });
  const add = (more: Record<string, string>): void => {
    for (const [name, sql] of Object.entries(more)) writeFileSync(join(directory, name), sql.startsWith("--") ? sql : `-- compatible\n${sql}`);
  };
  add(files);
  const lines: string[] = [];
  return {
    url: database.ownerUrl,
    add,
    lines,
    run: (more: { readonly whileServersRun?: boolean } = {}) => migrate(database.ownerUrl, { progress: (line) => lines.push(line), directory, ...more }),
    rows: async (statement: string) => (await client.query({ text: statement, rowMode: "array" })).rows,
    directory,
  };
};

const refusedWith = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error));
  assert.match(error.message, pattern);
  assert.doesNotMatch(error.message, /\n/);
  return true;
};

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + 10_000; !(await condition()); await sleep(10)) assert.ok(Date.now() < end, "what was awaited did not happen");
};

const two = { "0001_first.sql": "create table a (x integer);", "0002_second.sql": "insert into a values (1); create table b ();" };

test("each migration runs once, in order, and is recorded with its compatibility with the previous version", async (t) => {
  const { run, rows, lines, add } = await world(t, two);
  await run();
  await run();
  assert.deepEqual(lines, ["Created the database's tables: 2 migrations"]);
  add({ "0003_third.sql": "-- breaking\n-- Why it is.\ninsert into a values (3)" });
  await run();
  assert.deepEqual(await rows("select x from a order by x"), [[1], [3]]);
  assert.deepEqual(await rows("select number, name, length(sha256), compatible from schema_migrations order by number"), [
    [1, "0001_first.sql", 64, true],
    [2, "0002_second.sql", 64, true],
    [3, "0003_third.sql", 64, false],
  ]);
});

test("six servers that start at once migrate the real schema only once", async (t) => {
  const { directory, run, rows, lines } = await world(t, {});
  cpSync(migrationsDirectory, directory, { recursive: true });
  await Promise.all(Array.from({ length: 6 }, () => run()));
  const { length } = await readMigrations();
  assert.deepEqual(await rows("select count(*)::int from schema_migrations"), [[length]]);
  assert.deepEqual(
    lines.filter((line) => /^(?:Created|Migrated)/.test(line)),
    [`Created the database's tables: ${length} migrations`],
  );
});

test("a failed migration is rolled back and named", async (t) => {
  const { run, rows, add } = await world(t, { "0001_first.sql": "create table a ()", "0002_wrong.sql": "create table b (); select 1 / 0;" });
  await assert.rejects(run(), refusedWith(/^migration 0002_wrong.sql failed: division by zero$/));
  assert.deepEqual(await rows("select to_regclass('a') is not null, to_regclass('b') is not null"), [[true, false]]);
  add({ "0002_wrong.sql": "create table b ()" });
  await run();
  assert.deepEqual(await rows("select count(*)::int from schema_migrations"), [[2]]);
});

test("a migration that was changed after it was applied stops the start", async (t) => {
  const { run, add } = await world(t, two);
  await run();
  add({ "0001_first.sql": "create table a (x bigint);" });
  await assert.rejects(run(), refusedWith(/^migration 0001_first.sql was changed after/));
});

test("line endings changed by a checkout do not count as a change", async (t) => {
  const { run, add } = await world(t, { "0001_first.sql": "-- breaking\ncreate table a (\n  x integer\n);\n" });
  await run();
  add({ "0001_first.sql": "-- breaking\r\ncreate table a (\r\n  x integer\r\n);\r\n" });
  await run();
});

test("a misnumbered file is refused by name", async (t) => {
  const { run } = await world(t, { "0001_first.sql": "select 1", "0003_third.sql": "select 1" });
  await assert.rejects(run(), refusedWith(/0003_third.sql is misnamed: expected number 2/));
});

test("a migration without a compatibility header is refused, and none of it runs", async (t) => {
  const { run, rows } = await world(t, { "0001_first.sql": "-- A table.\n-- compatible\ncreate table a ()" });
  await assert.rejects(run(), refusedWith(/^migration 0001_first.sql must say in its first line .*"-- compatible" or "-- breaking"/));
  assert.deepEqual(await rows("select to_regclass('a') is null"), [[true]]);
});

// ---- older servers on newer schemas ------------------------------------------------------------------------------

test("an older server runs on a newer schema if all later migrations are compatible, and logs it", async (t) => {
  const { run, directory, lines, rows } = await world(t, { ...two, "0003_third.sql": "create table c ();" });
  await run();
  rmSync(join(directory, "0002_second.sql"));
  rmSync(join(directory, "0003_third.sql"));
  lines.length = 0;
  await run();
  assert.deepEqual(lines, ["The database is at 0003_third.sql, newer than this version of Gantry knows; it can run on it"]);
  assert.deepEqual(await rows("select count(*)::int from schema_migrations"), [[3]]);
});

test("an older server refuses a newer schema with a breaking migration and names it", async (t) => {
  const { run, directory } = await world(t, { ...two, "0003_third.sql": "-- breaking\ndrop table b;", "0004_fourth.sql": "create table d ();" });
  await run();
  for (const name of ["0002_second.sql", "0003_third.sql", "0004_fourth.sql"]) rmSync(join(directory, name));
  await assert.rejects(
    run(),
    refusedWith(/newer than this version of Gantry \(\d\S+\) knows \(1\), and this version cannot run on 0003_third.sql: start Gantry \d/),
  );
});

test("an older server that finds no version names only the migration", async (t) => {
  const { run, directory, rows } = await world(t, { ...two, "0003_third.sql": "-- breaking\ndrop table b;" });
  await run();
  await rows("alter table schema_migrations drop column version");
  rmSync(join(directory, "0003_third.sql"));
  await assert.rejects(run(), refusedWith(/cannot run on 0003_third.sql: start the newer version$/));
});

/** A session as a running server has. */
const connectAs = async (t: TestContext, url: string, name: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, application_name: name });
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
};

test("a breaking migration is refused while servers are connected, changes nothing, and names them; a compatible one runs", async (t) => {
  const { run, url, rows, add, lines } = await world(t, two);
  await run();
  await connectAs(t, url, "gantry 0.1.0 on web-1:12");
  const old = await connectAs(t, url, "gantry");
  await connectAs(t, url, "gantry migrate");
  await connectAs(t, url, "psql");
  add({ "0003_third.sql": "create table c ();", "0004_fourth.sql": "-- breaking\ndrop table b;" });
  const refusal = /^migration 0004_fourth.sql would break servers that are connected: a gantry of an earlier version[^,]*, gantry 0\.1\.0 on web-1:12/;
  await assert.rejects(run(), refusedWith(refusal));
  assert.deepEqual(lines.at(-1), "Migrated the database: 0003_third.sql");
  assert.deepEqual(await rows("select to_regclass('b') is not null"), [[true]]);
  await old.end();
  await assert.rejects(run(), refusedWith(/are connected: gantry 0\.1\.0 on web-1:12\. Stop/));
  await run({ whileServersRun: true });
  assert.deepEqual(await rows("select to_regclass('b') is null, (select count(*)::int from schema_migrations)"), [[true, 4]]);
});

test("a server that connects during a breaking migration stops it, and the database stays as it was", async (t) => {
  const { run, url, rows, add } = await world(t, two);
  await run();
  const blocker = await connectAs(t, url, "psql");
  await blocker.query("begin; lock table a in access share mode");
  add({ "0003_third.sql": "-- breaking\nalter table a add column y integer;" });
  const refused = assert.rejects(run(), refusedWith(/would break servers that are connected: gantry 9\.9\.9 on late:1\./));
  await until(async () => (await rows("select 1 from pg_stat_activity where query like '%add column y%' and wait_event_type = 'Lock'")).length === 1);
  await connectAs(t, url, "gantry 9.9.9 on late:1");
  await blocker.query("commit");
  await refused;
  assert.deepEqual(await rows("select count(*)::int from pg_attribute where attrelid = 'a'::regclass and attname = 'y'"), [[0]]);
});

test("a breaking migration that a server knows does not prevent it from running on later compatible ones", async (t) => {
  const { run, directory } = await world(t, { "0001_first.sql": "-- breaking\ncreate table a ();", "0002_second.sql": "create table b ();" });
  await run();
  rmSync(join(directory, "0002_second.sql"));
  await run();
});

test("a database from before the baseline is refused with one sentence on how to start over, and is not changed", async (t) => {
  const { url, rows, directory, run } = await world(t, {});
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    create table schema_migrations (number integer primary key, name text not null, sha256 text not null, apply_time timestamptz(3) not null default now());
    insert into schema_migrations (number, name, sha256) values (1, '0001_access.sql', 'x'), (2, '0002_registry.sql', 'y')`);
  await client.end();
  const refusal = refusedWith(/^the database was created by a version of Gantry before the first release .*: start with an empty database .*GANTRY_DATA/);
  await assert.rejects(migrate(url, { progress: () => {} }), refusal);
  cpSync(migrationsDirectory, directory, { recursive: true });
  await assert.rejects(run(), refusal);
  assert.deepEqual(await rows("select tablename::text from pg_tables where schemaname = 'public'"), [["schema_migrations"]]);
});

// ---- outside a transaction ---------------------------------------------------------------------------------------

const outside = (sql: string): string => `-- compatible, outside a transaction\n${sql}`;
const numbers = "create table a (x integer, y integer); insert into a select n, n % 10 from generate_series(1, 1000) as n;";
const twoIndexes = outside(
  "-- The first; its comment ends with a mark;\ncreate unique index concurrently if not exists a_by_x on a (x);\n" +
    "create index concurrently if not exists a_by_y\n  on a (y) where y > 1;\n",
);
const validIndexes = "select indexrelid::regclass::text, indisvalid from pg_index where indrelid = 'a'::regclass order by 1";

test("a migration outside a transaction builds its indexes concurrently and is recorded", async (t) => {
  const { run, rows } = await world(t, { "0001_first.sql": numbers, "0002_indexes.sql": twoIndexes });
  await run();
  assert.deepEqual(await rows(validIndexes), [
    ["a_by_x", true],
    ["a_by_y", true],
  ]);
  assert.deepEqual(await rows("select name from schema_migrations order by number"), [["0001_first.sql"], ["0002_indexes.sql"]]);
});

test("servers that start at once build an index concurrently without a deadlock", async (t) => {
  const { run, rows, lines } = await world(t, { "0001_first.sql": numbers, "0002_indexes.sql": twoIndexes });
  await Promise.all([run(), run(), run()]);
  assert.equal(lines.filter((line) => line === "Created the database's tables: 2 migrations").length, 1);
  assert.deepEqual(await rows(validIndexes), [
    ["a_by_x", true],
    ["a_by_y", true],
  ]);
});

test("an index with an interrupted build is dropped and built again", async (t) => {
  const { run, rows, url, add } = await world(t, { "0001_first.sql": `${numbers} insert into a values (7, 7);` });
  await run();
  add({ "0002_indexes.sql": twoIndexes });
  await assert.rejects(run(), refusedWith(/^migration 0002_indexes.sql failed: could not create unique index "a_by_x"$/));
  assert.deepEqual(await rows(validIndexes), [["a_by_x", false]]);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("delete from a where ctid = (select max(ctid) from a where x = 7)");
  await client.end();
  await run();
  assert.deepEqual(await rows(validIndexes), [
    ["a_by_x", true],
    ["a_by_y", true],
  ]);
});

test("an interrupted migration outside a transaction is resumed, and other servers wait until it is done", async (t) => {
  const { run, rows, url, add, lines } = await world(t, { "0001_first.sql": numbers });
  await run();
  add({ "0002_indexes.sql": twoIndexes });
  // Every index build waits for it.
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  await writer.query("begin; update a set y = 0 where x = 1");
  const cut = assert.rejects(run(), refusedWith(/^migration 0002_indexes.sql failed: terminating connection/));
  const building = `from pg_stat_activity where application_name = 'gantry migrate' and datname = current_database()
    and query like 'create unique index%' and wait_event_type = 'Lock'`;
  await until(async () => (await rows(`select 1 ${building}`)).length === 1);
  const other = run();
  await until(async () => lines.includes("Waiting for another server to migrate the database"));
  await rows(`select pg_terminate_backend(pid) ${building}`);
  await cut;
  await writer.query("commit");
  await writer.end();
  await other;
  assert.deepEqual(await rows(validIndexes), [
    ["a_by_x", true],
    ["a_by_y", true],
  ]);
  assert.equal(lines.filter((line) => line === "Migrated the database: 0002_indexes.sql").length, 1);
});

for (const [what, sql] of [
  ["an index that is not passed over when it is there", "create index concurrently a_by_x on a (x);"],
  ["an index that locks its table", "create index if not exists a_by_x on a (x);"],
  ["a table", "create table b ();"],
  ["a function, whose text holds statements", "analyze a;\ncreate function f() returns integer language sql as $$\n  select 1;\n$$;"],
] as const)
  test(`outside a transaction ${what} is refused because it cannot run twice`, async (t) => {
    const { run } = await world(t, { "0001_first.sql": numbers, "0002_indexes.sql": outside(sql) });
    await assert.rejects(
      run(),
      refusedWith(/^migration 0002_indexes.sql runs outside a transaction, where each statement must be one that may run twice .*: create /),
    );
  });
