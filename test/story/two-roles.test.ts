// An own PostgreSQL as the guide describes: one role owns and migrates the database, another one serves.

import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { readMigrations } from "../../server/db/migration-files.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { addressOf, startTestServer } from "../database.ts";
import { freePort } from "../free-port.ts";
import { gantryFile, type Program, start, stopAll } from "./processes.ts";

const owner = "planted_owner";
const serving = "planted_server";

/** Reads the guide's statements, so that the guide stays correct, and replaces the role names. */
const guide = readFileSync(join(import.meta.dirname, "..", "..", "docs", "operate", "postgresql.md"), "utf8");
const [, guideSql = ""] = /```sql\n([\s\S]*?)```/.exec(guide) ?? [];
const statements = guideSql
  .replaceAll("gantry_server", serving)
  .replaceAll(/\bgantry\b/g, owner)
  .split(/;\n/)
  .map((statement) => statement.trim())
  .filter((statement) => statement !== "");

let server: Awaited<ReturnType<typeof startTestServer>>;
let folder: string;
let environment: Record<string, string>;
let migrateUrl: string;

const query = async (url: string, ...texts: readonly string[]): Promise<unknown[][]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: unknown[][] = [];
    for (const text of texts) rows = (await client.query<unknown[]>({ text, rowMode: "array" })).rows;
    return rows;
  } finally {
    await client.end();
  }
};

type Done = Awaited<ReturnType<typeof gantryAnywhere>>;

const urlOf = (role: string): string => {
  const address = new URL(addressOf(server.url, owner));
  address.searchParams.set("user", role);
  return address.href;
};

before(async () => {
  server = await startTestServer();
  folder = mkdtempSync(join(tmpdir(), "gantry-two-roles-"));
  appendFileSync(join(server.directory, "postgres", "pg_hba.conf"), `local all ${owner} trust\nlocal all ${serving} trust\n`);
  await query(server.url, "select pg_reload_conf()");
  assert.ok(statements.length >= 5, `the guide has ${statements.length} statements`);
  await query(server.url, ...statements);
  migrateUrl = urlOf(owner);
  const key = join(folder, "secret.key");
  writeFileSync(key, Buffer.alloc(32, 1).toString("base64"), { mode: 0o600 });
  environment = { DATABASE_URL: urlOf(serving), GANTRY_SECRET_KEY_FILE: key, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` };
});
after(async () => {
  await stopAll();
  await server?.embedded.stop();
  rmSync(folder, { recursive: true, force: true });
  if (server) rmSync(server.directory, { recursive: true, force: true });
});

const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Done> => gantryAnywhere(args, { env: { ...environment, ...more } });

const serve = async (more: Readonly<Record<string, string>> = {}): Promise<Program> => {
  const program = start(gantryFile, ["serve"], { env: { ...environment, ...more } });
  await program.says(/npx gantry token/);
  return program;
};

const stop = async (program: Program): Promise<void> => {
  program.signal("SIGTERM");
  assert.equal((await program.ended).code, 0);
};

const oneRole = /^The server's database role can change its tables, and so the audit log: docs\/operate\/postgresql\.md/m;
const remedy = "run `gantry admin migrate` with GANTRY_MIGRATE_URL, the connection of the role that owns the database";

test("a server role that cannot migrate does not start on an empty database, and one sentence says what to run", async () => {
  const { code, stdout, stderr } = await run(["serve"]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(stderr, `gantry: the database is not prepared for role ${serving}, which cannot create the schema: ${remedy}\n`);
});

test("without the owner's connection gantry admin migrate exits with 1 and that sentence; an invalid address is named, not shown", async () => {
  const { code, stderr } = await run(["admin", "migrate"]);
  assert.deepEqual([code, stderr], [1, `gantry: the database is not prepared for role ${serving}, which cannot create the schema: ${remedy}\n`]);
  const wrong = await run(["admin", "migrate"], { GANTRY_MIGRATE_URL: "mysql://secret@host/db" });
  assert.deepEqual([wrong.code, wrong.stderr], [1, "gantry: GANTRY_MIGRATE_URL must be an address of the form postgresql://user:password@host/database\n"]);
});

test("gantry admin migrate creates the schema with the owner's connection and no secret key, and is idempotent", async () => {
  const { DATABASE_URL = "" } = environment;
  const alone = (more: Readonly<Record<string, string>> = {}): Promise<Done> =>
    gantryAnywhere(["admin", "migrate"], { env: { DATABASE_URL, GANTRY_MIGRATE_URL: migrateUrl, ...more } });
  const first = await alone();
  assert.deepEqual([first.code, first.stdout], [0, "The database is current\n"]);
  assert.match(first.stderr, /^Created the database's tables: \d+ migrations$/m);
  assert.doesNotMatch(first.stderr, oneRole);
  const second = await alone();
  assert.deepEqual([second.code, second.stdout, second.stderr], [0, "The database is current\n", ""]);
});

test("then a server and commands work without the owner's connection and without a warning about roles", async () => {
  const program = await serve();
  assert.doesNotMatch(program.stderr(), oneRole);
  const { code, stdout, stderr } = await run(["token"]);
  assert.deepEqual([code, stderr], [0, ""]);
  const url = `http://${environment.GANTRY_LISTEN}/iam/v2/groups`;
  const headers = { authorization: `Bearer ${stdout.trim()}`, "content-type": "application/json" };
  const made = await fetch(`${url}/`, { method: "POST", headers, body: JSON.stringify({ name: "first" }) });
  assert.equal(made.status, 200, await made.text());
  await stop(program);
  const audited = await run(["audit", "verify"]);
  assert.equal(audited.code, 0, audited.stderr);
  assert.deepEqual(await query(migrateUrl, `select count(*)::int from pg_class where relowner = '${serving}'::regrole`), [[0]]);
});

test("with both connections a start migrates by itself", async () => {
  await query(migrateUrl, `revoke select on groups from ${serving}`);
  const refused = await run(["serve"]);
  assert.deepEqual([refused.code, refused.stderr], [1, `gantry: role ${serving} lacks permissions in the database (select on groups): ${remedy}\n`]);
  await stop(await serve({ GANTRY_MIGRATE_URL: migrateUrl }));
});

test("a database that lacks a migration is reported with its name if the role cannot migrate", async () => {
  const last = (await readMigrations()).at(-1);
  assert.ok(last);
  await query(migrateUrl, `delete from schema_migrations where number = ${last.number}`);
  const { code, stderr } = await run(["serve"]);
  await query(
    migrateUrl,
    `insert into schema_migrations (number, name, sha256, compatible)
     values (${last.number}, '${last.name}', '${last.sha256}', ${last.compatible})`,
  );
  assert.deepEqual([code, stderr], [1, `gantry: the database lacks ${last.name}, and role ${serving} cannot migrate it: ${remedy}\n`]);
});

test("the owner sets how many months of the audit log are kept: a server with a lower setting logs it and continues", async () => {
  const kept = (): Promise<unknown[][]> => query(migrateUrl, "select months from audit_retention");
  const program = await serve({ GANTRY_AUDIT_MONTHS: "2" });
  assert.match(program.stderr(), /^The database keeps 13 months of the audit log, not the 2 of GANTRY_AUDIT_MONTHS: run `gantry admin migrate`/m);
  await stop(program);
  assert.deepEqual(await kept(), [[13]]);
  assert.equal((await run(["admin", "migrate"], { GANTRY_MIGRATE_URL: migrateUrl, GANTRY_AUDIT_MONTHS: "2" })).code, 0);
  assert.deepEqual(await kept(), [[2]]);
  assert.equal((await run(["token"], { GANTRY_MIGRATE_URL: migrateUrl })).code, 0);
  assert.deepEqual(await kept(), [[2]]);
});

test("gantry admin quota requires the owner's connection and no secret key, and otherwise says so in one sentence", async () => {
  const { DATABASE_URL = "" } = environment;
  const quota = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Done> =>
    gantryAnywhere(["admin", "quota", ...args], { env: { DATABASE_URL, ...more } });
  const refused = await quota(["set", "repos", "5000"]);
  const sentence =
    "the database role of DATABASE_URL lacks the permission to set quotas: give GANTRY_MIGRATE_URL, the connection of the role that owns the database";
  assert.deepEqual([refused.code, refused.stdout, refused.stderr], [1, "", `gantry: ${sentence}\n`]);
  const set = await quota(["set", "repos", "5000"], { GANTRY_MIGRATE_URL: migrateUrl });
  assert.deepEqual([set.code, set.stdout, set.stderr], [0, "repos is 5000 for the server\n", ""]);
  const listed = await quota(["list"]);
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.stdout, /^QUOTA +DEFAULT +SERVER\n/);
  assert.match(listed.stdout, /^repos +1000000 +5000$/m);
  assert.equal((await quota(["unset", "repos"], { GANTRY_MIGRATE_URL: migrateUrl })).stdout, "repos is unset for the server\n");
  const nobody = "0".repeat(40);
  const unknown = await quota(["set", "repos", "1", "--organization", nobody], { GANTRY_MIGRATE_URL: migrateUrl });
  assert.deepEqual([unknown.code, unknown.stderr], [1, `gantry: organization ${nobody} not found\n`]);
});

test("with one role for both the start logs a line and continues", async () => {
  const program = await serve({ DATABASE_URL: migrateUrl });
  assert.match(program.stderr(), oneRole);
  await stop(program);
  const { code, stderr } = await run(["token"], { DATABASE_URL: migrateUrl });
  assert.deepEqual([code, stderr], [0, ""], "a command does not repeat it");
});
