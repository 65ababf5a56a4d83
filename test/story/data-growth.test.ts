// Start, retention, backup, restore and verification with many rows. Prints times, and sizes of the tables.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { after, before, type TestContext, test } from "node:test";
import pg from "pg";
import * as copyStreams from "pg-copy-streams";
import { silent } from "#base/log.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { ensureAuditMonth } from "#audit/store";
import { type Entry, hashEntry, type Link } from "../../server/audit/log/chain.ts";
import { combineNonces, type Head, newNonce, readHeads, readProgress, writeHead, writeProgress } from "../../server/audit/log/heads.ts";
import { headInMonth, monthOf } from "../../server/audit/log/months.ts";
import { sealAudit, verifyLogs } from "../audit.ts";
import { runGantry } from "../command-line.ts";
import { asOwner, emptyDatabase, freshDatabase, ownerUrlOf, type TestDatabase } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { openWorld, type World } from "../world.ts";
import { gantry, gantryFile, start, stopAll } from "./processes.ts";

const counts = shortOrLong({ entries: 5_000, events: 3_000, repos: 3_000 }, { entries: 50_000, events: 20_000, repos: 20_000 });

const dayMs = 86_400_000;
const nowMs = Date.now();
/** In a month that retention drops. */
const oldMs = nowMs - (limits.auditMonths + 2) * 31 * dayMs;

let folder: string;
let database: TestDatabase;
let world: World;
let environment: Record<string, string>;

const connect = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: ownerUrlOf(database.url) });
  await client.connect();
  await client.query("set session_replication_role = replica");
  return client;
};

const measure = async <T>(t: TestContext, what: string, work: () => Promise<T>): Promise<T> => {
  const begunMs = performance.now();
  const result = await work();
  t.diagnostic(`${what}: ${((performance.now() - begunMs) / 1000).toFixed(1)} s`);
  return result;
};

/** The expired half is in the old month, the rest in the current one. */
function* chainedEntries(organization: string, start: Link, heads: Map<string, Link>): Generator<string> {
  let link = start;
  for (let index = 0; index < counts.entries; index++) {
    const sealMs = index < counts.entries / 2 ? oldMs : nowMs;
    const sequence = link.sequence + 1;
    const entry: Entry = {
      uid: `${organization}/${sequence.toString(16).padStart(16, "0")}`,
      sequence,
      createTime: timestamp(sealMs),
      sealTime: timestamp(sealMs),
      callerUid: organization,
      act: {},
      operation: "chainguard.platform.registry.v2.ReposService/UpdateRepo",
      subject: `${organization}/${(index % counts.repos).toString(16).padStart(16, "0")}`,
      type: "dev.chainguard.api.platform.registry.repo.updated.v1",
      code: "OK",
      count: 1,
      bindingUids: [],
      remoteAddress: "192.0.2.1",
      userAgent: "gantry",
      requestId: "0197a3c4-0000-7000-8000-000000000000",
      eventId: "0197a3c4-0000-7000-8000-000000000001",
      resourceUids: [],
    };
    link = { sequence, hash: hashEntry(link.hash, entry) };
    heads.set(monthOf(entry.sealTime), link);
    const fields = [entry.uid, sequence, entry.createTime, entry.sealTime, entry.callerUid, "{}", entry.operation, entry.subject, entry.type, "OK", 1, "[]"];
    yield `${[...fields, entry.remoteAddress, entry.userAgent, entry.requestId, entry.eventId, link.hash].join("\t")}\n`;
  }
}

const fillLog = async (client: pg.Client): Promise<void> => {
  const { store, seal } = world.server.application.services;
  const { organization } = world;
  const [progress, heads] = [await readProgress(store.read, seal), await readHeads(store.read, seal, [organization])];
  const head = heads.get(organization);
  assert.ok(progress && head);
  for (const time of [oldMs, nowMs]) await store.write((rows) => ensureAuditMonth(rows, monthOf(timestamp(time))));
  const ends = new Map<string, Link>();
  const columns = `uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address,
    user_agent, request_id, event_id, hash`;
  await pipeline(Readable.from(chainedEntries(organization, head.last, ends)), client.query(copyStreams.from(`copy audit_entries (${columns}) from stdin`)));
  let next: Head = { ...head, nonce: newNonce() };
  for (const [month, last] of ends) next = { ...headInMonth(next, month), last };
  await store.write(async (rows) => {
    await writeHead(rows, seal, organization, next);
    await writeProgress(rows, seal, {
      ...progress,
      entries: progress.entries + counts.entries,
      sealTime: timestamp(nowMs),
      combinedNonce: combineNonces(combineNonces(progress.combinedNonce, head.nonce), next.nonce),
    });
  });
};

/** Sealed already, a third of them expired. */
const fillEvents = async (client: pg.Client): Promise<void> => {
  const { store, seal } = world.server.application.services;
  await client.query(
    `insert into outbox (event_id, uid, position, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
     select gen_random_uuid(), $1 || '/' || lpad(to_hex(last + n), 16, '0'), last + n, 'dev.chainguard.api.platform.registry.repo.updated.v1',
       'https://gantry.example.com', $1 || '/' || lpad(to_hex(n), 16, '0'), $1, 'customer', '{}', 'chainguard.platform.registry.v2.Repo',
       '{"actor": {}, "body": {"name": "a-repo", "description": "' || repeat('d', 200) || '"}}', '',
       $2::timestamptz - case when n % 3 = 0 then interval '400 days' else interval '0' end - n * interval '1 millisecond'
     from generate_series(1, $3::bigint) as n, (select coalesce(max(position), 0) as last from outbox) as place`,
    [world.organization, timestamp(nowMs), counts.events],
  );
  const [[last = ""] = []] = await asOwner(database.url, "select max(position) from outbox");
  const progress = await readProgress(store.read, seal);
  assert.ok(progress);
  await store.write((rows) => writeProgress(rows, seal, { ...progress, position: Number(last) }));
};

const fillRepos = async (client: pg.Client): Promise<void> => {
  await client.query(
    `insert into repos (uid, name, description, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), 'repo-' || n, 'description of a repository', $2::timestamptz, $2::timestamptz
     from generate_series(1, $3::bigint) as n`,
    [world.organization, timestamp(nowMs), counts.repos],
  );
};

const countOf = async (url: string, table: string): Promise<number> => Number((await asOwner(url, `select count(*) from ${table}`))[0]?.[0]);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-growth-"));
  await chmod(folder, 0o711);
  database = await freshDatabase({ planted: true });
  environment = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"), GANTRY_BLOBS: join(folder, "blobs") };
  await writeFile(environment.GANTRY_SECRET_KEY_FILE ?? "", Buffer.alloc(32, 9).toString("base64"), { mode: 0o600 });
  world = await openWorld(environment, silent, oldMs);
  await sealAudit(world);
  world.clock.now = nowMs;
});
after(async () => {
  await stopAll();
  await world?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("the tables are filled, and the log verifies entry by entry", async (t) => {
  const client = await connect();
  await measure(t, `fill ${counts.entries} entries`, () => fillLog(client));
  await measure(t, `fill ${counts.events} events`, () => fillEvents(client));
  await measure(t, `fill ${counts.repos} repos`, () => fillRepos(client));
  await client.query("analyze");
  await client.end();
  const { whole, lines } = await measure(t, "verify the audit log", () => verifyLogs(world));
  assert.ok(whole, lines.join("\n"));
  for (const [name, table, index] of await asOwner(
    database.url,
    `select substring(relname from '^[a-z_]+[a-z]'), sum(pg_table_size(oid)), sum(pg_indexes_size(oid)) from pg_class
     where relkind = 'r' and relname ~ '^(audit_entries_[0-9_]+|outbox|repos)$' group by 1 order by 1`,
  ))
    t.diagnostic(`${name}: table ${table} bytes, indexes ${index} bytes`);
});

/** Starts a verification and kills it after its first pieces. Returns false if it ended before. */
const killVerification = async (file: string): Promise<boolean> => {
  const program = start(gantryFile, ["audit", "verify", "--resume", file], { env: environment });
  const written = async (): Promise<boolean> => (await readFile(file, "utf8").catch(() => "")).includes("\n");
  while (program.child.exitCode === null && !(await written()));
  program.signal("SIGKILL");
  await program.ended;
  return existsSync(file);
};

test("a verification of the audit log that is killed continues after the entries that it verified, and says so", async (t) => {
  const file = join(folder, "verification");
  while (!(await killVerification(file)));
  const { code, stdout, stderr } = await measure(t, "the rest of a killed verification", () =>
    gantry(["audit", "verify", "--resume", file], { env: environment }),
  );
  assert.equal(code, 0, stderr);
  const [, entries, last, until] =
    /intact: (\d+) entries, the last is (\d+) with hash .*; entries up to (\d+) were verified by an interrupted run/.exec(stdout) ?? [];
  const whole = await gantry(["audit", "verify"], { env: environment });
  assert.match(whole.stdout, new RegExp(`intact: ${entries} entries, the last is ${last} with hash [0-9a-f]{64}\n`), stdout);
  assert.ok(Number(until) >= limits.verifiedMax && Number(until) <= Number(last), stdout);
  assert.equal(existsSync(file), false);
});

test("a start does not depend on the number of rows", async (t) => {
  await world.close();
  world = await measure(t, "start", () => openWorld(environment, silent, nowMs));
});

test("a backup reports its progress row by row, and a restore has the same rows and an intact log", async (t) => {
  const path = join(folder, "backup.tar");
  const owner = { ...environment, GANTRY_MIGRATE_URL: ownerUrlOf(database.url) };
  const made = await measure(t, "backup", () => runGantry(["admin", "backup", path], { environment: owner, columns: 200 }));
  assert.equal(made.status, 0, made.err);
  assert.match(made.err, /tables: audit_entries, \d+ rows/);
  const verified = await measure(t, "verify the backup", () => runGantry(["admin", "backup", "--verify", path], { environment: owner }));
  assert.equal(verified.status, 0, verified.err);
  t.diagnostic(`backup file: ${(await stat(path)).size} bytes`);

  const empty = await emptyDatabase();
  try {
    const place = { ...environment, DATABASE_URL: empty.url, GANTRY_MIGRATE_URL: empty.ownerUrl, GANTRY_BLOBS: join(folder, "restored-blobs") };
    const restored = await measure(t, "restore, with verification of the audit log", () =>
      runGantry(["admin", "restore", path], { environment: place, columns: 200 }),
    );
    assert.equal(restored.status, 0, restored.err);
    assert.match(restored.err, /\d+ audit log entries verified/);
    for (const table of ["repos", "audit_entries"]) assert.equal(await countOf(empty.url, table), await countOf(database.url, table), table);
  } finally {
    await empty.drop();
  }
});

test("event retention deletes expired events in bounded pieces", async (t) => {
  const { application } = world.server;
  // Without events of the server itself. The newest event stays.
  const filled = "outbox where type = 'dev.chainguard.api.platform.registry.repo.updated.v1'";
  const before = await countOf(database.url, filled);
  await measure(t, "event retention", () => runMaintenance(application.kernel, { only: "outbox" }));
  assert.equal(before - (await countOf(database.url, filled)), Math.floor((counts.events - 1) / 3));
});

test("audit retention drops an expired month whole, and the log stays intact", async (t) => {
  const { application } = world.server;
  await measure(t, "audit retention", () => runMaintenance(application.kernel, { only: "audit_entries" }));
  const kept = await countOf(database.url, "audit_entries");
  assert.ok(kept >= counts.entries / 2 && kept < counts.entries, String(kept));
  const { whole, lines } = await verifyLogs(world);
  assert.ok(whole, lines.join("\n"));
});
