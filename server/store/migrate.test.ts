// Migrations: in order, once, whole, and never a changed one.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Fault } from "#base/fault.ts";
import pg from "pg";
import { freshDatabase } from "../../test/database.ts";
import { migrate, migrationsDirectory } from "./migrate.ts";

/** An empty schema, and a folder of migrations to fill it with. */
const world = async (t: TestContext, files: Record<string, string>) => {
  const database = await freshDatabase();
  const directory = mkdtempSync(join(tmpdir(), "gantry-migrations-"));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("drop schema public cascade; create schema public");
  t.after(async () => {
    await client.end();
    await database.drop();
    rmSync(directory, { recursive: true });
  });
  const add = (more: Record<string, string>): void => {
    for (const [name, sql] of Object.entries(more)) writeFileSync(join(directory, name), sql);
  };
  add(files);
  const told: string[] = [];
  return {
    add,
    told,
    run: () => migrate({ connectionString: database.url }, (line) => told.push(line), directory),
    rows: async (statement: string) => (await client.query({ text: statement, rowMode: "array" })).rows,
    directory,
  };
};

const refusal = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault);
  assert.match(error.message, pattern);
  return true;
};

const two = { "0001_first.sql": "create table a (x integer);", "0002_second.sql": "insert into a values (1); create table b ();" };

test("each migration runs once, in order", async (t) => {
  const { run, rows, told, add } = await world(t, two);
  await run();
  await run();
  assert.deepEqual(told, ["Migrated the database: 0001_first.sql", "Migrated the database: 0002_second.sql"]);
  add({ "0003_third.sql": "insert into a values (3)" });
  await run();
  assert.deepEqual(await rows("select x from a order by x"), [[1], [3]]);
  assert.deepEqual(await rows("select number, name, length(sha256) from schema_migrations order by number"), [
    [1, "0001_first.sql", 64],
    [2, "0002_second.sql", 64],
    [3, "0003_third.sql", 64],
  ]);
});

test("six servers that start at once migrate the real schema once between them", async (t) => {
  const { directory, run, rows, told } = await world(t, {});
  cpSync(migrationsDirectory, directory, { recursive: true });
  await Promise.all(Array.from({ length: 6 }, run));
  assert.deepEqual(await rows("select count(*)::int from schema_migrations"), [[told.length]]);
  assert.equal(new Set(told).size, told.length);
});

test("a migration that fails leaves nothing of itself and is named", async (t) => {
  const { run, rows, add } = await world(t, { "0001_first.sql": "create table a ()", "0002_wrong.sql": "create table b (); select 1 / 0;" });
  await assert.rejects(run(), refusal(/^migration 0002_wrong.sql failed: division by zero$/));
  assert.deepEqual(await rows("select to_regclass('a') is not null, to_regclass('b') is not null"), [[true, false]]);
  add({ "0002_wrong.sql": "create table b ()" });
  await run();
  assert.deepEqual(await rows("select count(*)::int from schema_migrations"), [[2]]);
});

test("a migration that was changed after it was applied stops the start", async (t) => {
  const { run, add } = await world(t, two);
  await run();
  add({ "0001_first.sql": "create table a (x bigint);" });
  await assert.rejects(run(), refusal(/^migration 0001_first.sql was changed after/));
});

test("line ends that a checkout has turned are no change", async (t) => {
  const { run, add } = await world(t, { "0001_first.sql": "create table a (\n  x integer\n);\n" });
  await run();
  add({ "0001_first.sql": "create table a (\r\n  x integer\r\n);\r\n" });
  await run();
});

test("a database that a newer version has migrated stops the start", async (t) => {
  const { run, directory } = await world(t, two);
  await run();
  rmSync(join(directory, "0002_second.sql"));
  await assert.rejects(run(), refusal(/^the database is at migration 2, newer than this version of Gantry knows \(1\)/));
});

test("a misnumbered file is refused by name", async (t) => {
  const { run } = await world(t, { "0001_first.sql": "select 1", "0003_third.sql": "select 1" });
  await assert.rejects(run(), refusal(/0003_third.sql is misnamed: expected number 2/));
});
