// A failed start names its actual cause; an unsuitable database is refused first.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { Fault } from "#base/fault.ts";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import pg from "pg";
import { freshDatabase } from "../../test/database.ts";
import { openPooler } from "../../test/pooler.ts";
import { type ServerFacts, serverProblem, startCause } from "./fitness.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;
/** For roles and databases, which the server shares. */
const name = `gantry_fitness_${randomBytes(5).toString("hex")}`;

before(async () => {
  database = await freshDatabase({ planted: true });
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

const refusal = async (databaseUrl: string): Promise<string> => {
  const thrown: unknown = await openStore({ databaseUrl, log: silent }).then(
    (store) => store.close(),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof Fault, `expected a Fault, got ${String(thrown)}`);
  assert.doesNotMatch(thrown.message, /\n/);
  return thrown.message;
};

const addressWith = (change: (address: URL) => void): string => {
  const address = new URL(database.ownerUrl);
  change(address);
  return address.href;
};

/** The server accepts no other login, so the session switches roles. */
const asRole = (role: string): string => addressWith((address) => address.searchParams.set("options", `-c role=${role}`));

const good: ServerFacts = { version: "18.4", number: 180_004, encoding: "UTF8", connections: { server: 97, database: -1, role: -1 } };

const problems: readonly (readonly [title: string, facts: Partial<ServerFacts>, problem: RegExp | undefined])[] = [
  ["a database that will do", {}, undefined],
  ["the oldest that will do", { version: "15.0", number: 150_000 }, undefined],
  ["one that is too old", { version: "14.19", number: 140_019 }, /^the database is PostgreSQL 14\.19; Gantry needs 15 or newer$/],
  ["another encoding", { encoding: "LATIN1" }, /^the database's encoding is LATIN1; Gantry needs UTF8$/],
  ["just enough connections", { connections: { server: 21, database: 21, role: 21 } }, undefined],
  [
    "a server of few connections",
    { connections: { server: 20, database: -1, role: -1 } },
    /^the server \(max_connections\) allows 20 connections, but .* needs 21/,
  ],
  ["a database of few connections", { connections: { server: 97, database: 0, role: -1 } }, /^the database .* allows 0 connections/],
  ["a role of few connections", { connections: { server: 97, database: -1, role: 3 } }, /^the role .* allows 3 connections/],
];
for (const [title, facts, problem] of problems)
  test(`${title} is ${problem ? "refused with its reason" : "accepted"}`, () => {
    const found = serverProblem({ ...good, ...facts });
    if (problem) assert.match(found ?? "", problem);
    else assert.equal(found, undefined);
  });

const postgresError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

const causes: readonly (readonly [error: Error, cause: RegExp])[] = [
  [postgresError("53300", "sorry, too many clients already"), /^it has no connection left .*\(sorry, too many clients already\)$/],
  [postgresError("53100", 'could not extend file "base/5/1": No space left on device'), /^its disk is full/],
  [postgresError("58P01", 'could not write to file "pg_wal/xlogtemp": No space left on device'), /^its disk is full/],
  [postgresError("XX000", "checkpoint request failed"), /^it cannot write to its disk, which is most likely full/],
  [postgresError("53200", "out of memory"), /^it is out of memory/],
  [postgresError("26000", 'prepared statement "begin" does not exist'), /connection pooler .* \(transaction mode\)/],
  [postgresError("42P05", 'prepared statement "begin" already exists'), /connection pooler .* \(transaction mode\)/],
  [postgresError("08P01", "transaction blocks not allowed in statement pooling mode"), /connection pooler/],
  [postgresError("25006", "cannot execute CREATE TABLE in a read-only transaction"), /^it is a read-only standby/],
  [postgresError("28P01", 'password authentication failed for user "gantry"'), /^password authentication failed for user "gantry"$/],
  [Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }), /^ECONNREFUSED$/],
];
for (const [error, cause] of causes)
  test(`"${error.message || "nothing"}" at the start is reported as ${cause.source}`, () => assert.match(startCause(error), cause));

test("a role or database with too few connections is refused at the start, with the setting to raise", async () => {
  await client.query(`create role ${name} connection limit 4`);
  try {
    assert.match(await refusal(asRole(name)), /the role .* allows 4 connections, but each Gantry server needs 21\. Raise the limit$/);
    await client.query(`alter role ${name} connection limit -1`);
    await client.query(`do $$ begin execute format('alter database %I connection limit 5', current_database()); end $$`);
    assert.match(await refusal(asRole(name)), /the database .* allows 5 connections/);
  } finally {
    await client.query(`do $$ begin execute format('alter database %I connection limit -1', current_database()); end $$`);
    await client.query(`drop role ${name}`);
  }
});

test("a database with another encoding is refused at the start", async () => {
  await client.query(`create database ${name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`);
  try {
    assert.equal(await refusal(addressWith((address) => (address.pathname = `/${name}`))), "the database's encoding is LATIN1; Gantry needs UTF8");
  } finally {
    await client.query(`drop database ${name} with (force)`);
  }
});

for (const next of ["latest", "oldest"] as const)
  for (const size of [1, 2, 3])
    test(`a pooler in transaction mode that returns the ${next} of ${size} connections is refused at the start`, async () => {
      const pooler = await openPooler(database.url, { mode: "transaction", next, size });
      try {
        assert.match(await refusal(pooler.url), /connection pooler .* \(transaction mode\)/);
      } finally {
        await pooler.close();
      }
    });

test("a pooler in session mode is accepted", async () => {
  const pooler = await openPooler(database.url, { mode: "session", next: "latest", size: 20 });
  const store = await openStore({ databaseUrl: pooler.url, log: silent });
  assert.deepEqual(await store.read.query("select 1"), [["1"]]);
  assert.deepEqual(await store.write((rows) => rows.query("select 2")), [["2"]]);
  await store.close();
  await pooler.close();
});
