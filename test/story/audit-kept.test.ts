// Retention of the audit log: monthly partitions, many servers, clock jumps and killed servers.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { defaultPeriods } from "#base/retention-periods.ts";
import { timestamp } from "#base/time.ts";
import { retentions } from "../../server/application/retentions.ts";
import { openSealing } from "../../server/audit/log/seal.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { entriesOf, sealAudit, tamper, verifyLogs } from "../audit.ts";
import { freshDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";
import { gantryFile, start, stopAll } from "./processes.ts";
import { openInstallation } from "./installation.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await stopAll();
  for (const close of closing.splice(0).reverse()) await close();
});
after(stopAll);

/** An old date by the database's clock, so that the database's own retention, which has its own tests, does not interfere. */
const longAgoMs = Date.parse("2010-12-01T00:00:00Z");

const open = async (environment: Readonly<Record<string, string>> = {}): Promise<World> => {
  const world = await openWorld(environment, silent, longAgoMs);
  closing.push(() => world.close());
  return world;
};

const openTwo = async (): Promise<readonly [World, World]> => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-audit-"));
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  closing.push(
    () => database.drop(),
    () => rm(folder, { recursive: true, force: true }),
  );
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_PUBLIC_URL: "http://gantry.example.test" };
  return [await open(shared), await open(shared)];
};

const change = async (world: World, parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "changed" } }), "uid");

const partsOf = async (world: World): Promise<string[]> =>
  (await tamper(world, "select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_entries'::regclass order by 1")).map(([name]) => name ?? "");

const numbersOf = async (world: World, root = world.organization): Promise<number[]> =>
  (await tamper(world, "select sequence from audit_entries where left(uid, 40) = $1 order by sequence", [root])).map(([sequence]) => Number(sequence));

const whole = async (world: World): Promise<void> => {
  const found = await verifyLogs(world);
  assert.equal(found.whole, true, found.lines.join("\n"));
};

const changesAt = async (world: World, times: readonly string[]): Promise<string[]> => {
  const made: string[] = [];
  for (const time of times) {
    world.clock.now = Date.parse(time);
    made.push(await change(world));
    await sealAudit(world);
  }
  return made;
};

// ---- months -----------------------------------------------------------------------------------------------------

test("each month has one partition, created when its first entry is sealed, exact to the millisecond", async () => {
  const world = await open();
  await changesAt(world, ["2011-01-31T23:59:59.990Z"]);
  assert.deepEqual(
    (await partsOf(world)).filter((name) => name.includes("2011")),
    ["audit_entries_2011_01"],
  );
  await changesAt(world, ["2011-01-31T23:59:59.999Z", "2011-02-01T00:00:00.000Z", "2011-12-31T23:59:59.999Z", "2012-01-01T00:00:00.000Z"]);
  assert.deepEqual(
    (await partsOf(world)).filter((name) => /201[12]/.test(name)),
    ["audit_entries_2011_01", "audit_entries_2011_02", "audit_entries_2011_12", "audit_entries_2012_01"],
  );
  assert.deepEqual(await tamper(world, "select count(*) from audit_entries_2011_01"), [["3"]]);
  await whole(world);
});

test("months beyond the retention setting are dropped whole, and the log remains valid and continues", async () => {
  const world = await open();
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "silent since" } }), "uid");
  const made = await changesAt(world, [
    "2011-01-10T00:00:00Z",
    "2011-01-31T23:59:59.990Z",
    "2011-02-01T00:00:00Z",
    "2011-02-28T00:00:00Z",
    "2011-04-01T00:00:00Z",
  ]);
  const kept = async (months: number): Promise<string[]> => {
    await runMaintenance(world.server.application.kernel, { auditMonths: months });
    await whole(world);
    return (await partsOf(world)).map((name) => name.replace("audit_entries_", ""));
  };
  const before = await numbersOf(world);
  world.clock.now = Date.parse("2011-04-30T23:59:59.999Z");
  assert.deepEqual(await kept(4), ["2011_01", "2011_02", "2011_04"]);
  assert.deepEqual(await numbersOf(world), before);
  world.clock.now = Date.parse("2011-05-01T00:00:00.000Z");
  assert.deepEqual(await kept(4), ["2011_02", "2011_04"]);
  const told = await entriesOf(world, { subjects: made });
  assert.deepEqual(
    told.map(({ subject }) => subject),
    made.slice(2),
  );
  assert.ok(told.every(({ createTime }) => String(createTime) >= "2011-02-01"));
  // Two months at once, and an organization that loses all its entries.
  world.clock.now = Date.parse("2011-08-01T00:00:00.000Z");
  assert.deepEqual(await kept(4), []);
  assert.deepEqual(await numbersOf(world, other), []);
  const last = before.length;
  await changesAt(world, ["2011-08-02T00:00:00Z"]);
  await change(world, other);
  await sealAudit(world);
  assert.deepEqual(await numbersOf(world), [last + 1]);
  assert.deepEqual(await kept(1), ["2011_08"]);
});

test("attack 192: a month that a target has not received is kept a quarter longer, with log lines; without targets it is dropped on time", async () => {
  const lines: string[] = [];
  const world = await openWorld({}, (event, facts) => void lines.push(`${event} ${JSON.stringify(facts)}`), longAgoMs);
  closing.push(() => world.close());
  await changesAt(world, ["2011-01-10T00:00:00Z", "2011-02-10T00:00:00Z"]);
  // The target has the entries sealed before this year, and none of this year.
  await tamper(world, "insert into audit_targets (name, seal_time, seen_time) values ('stuck', '2011-01-01', '2011-02-10')");
  const kept = async (time: string, months: number): Promise<string[]> => {
    world.clock.now = Date.parse(time);
    await tamper(world, "update audit_targets set seen_time = $1 where name <> 'forgotten'", [time]);
    await runMaintenance(world.server.application.kernel, { auditMonths: months });
    await whole(world);
    return (await partsOf(world)).map((name) => name.replace("audit_entries_", "")).filter((name) => name > "2011");
  };
  assert.deepEqual(await kept("2011-03-01T00:00:00Z", 1), ["2011_01", "2011_02"]);
  assert.deepEqual(await kept("2011-04-30T00:00:00Z", 1), ["2011_01", "2011_02"]);
  assert.ok(lines.includes('audit.month.held {"month":"2011-01","targets":["stuck"]}'), lines.join("\n"));
  assert.deepEqual(await kept("2011-05-01T00:00:00Z", 1), ["2011_02"]);
  assert.ok(lines.includes('audit.month.missed {"month":"2011-01","targets":["stuck"]}'), lines.join("\n"));
  assert.deepEqual(await tamper(world, "select missed_month from audit_targets"), [["2011-01"]]);
  // Neither a target that is up to date nor one without settings delays retention.
  await tamper(world, "update audit_targets set name = 'forgotten', seen_time = '2011-04-01'");
  await tamper(
    world,
    `insert into audit_targets (name, seal_time, root, sequence, seen_time)
     select 'quick', seal_time, left(uid, 40), sequence, seal_time from audit_entries order by seal_time desc, left(uid, 40) desc, sequence desc limit 1`,
  );
  assert.deepEqual(await kept("2011-05-02T00:00:00Z", 1), []);
});

test("a server that was down for months drops all expired months at once and seals late entries into the current month", async () => {
  const world = await open();
  await changesAt(world, ["2011-01-10T00:00:00Z"]);
  const late = await change(world);
  world.clock.now = Date.parse("2013-06-01T00:00:00Z");
  await runMaintenance(world.server.application.kernel, { auditMonths: 2 });
  const [entry] = await entriesOf(world, { subjects: [late] });
  assert.deepEqual([entry?.createTime, String(entry?.sealTime).slice(0, 10)], ["2011-01-10T00:00:00.000Z", "2013-06-01"]);
  await runMaintenance(world.server.application.kernel, { auditMonths: 2 });
  await whole(world);
  assert.equal((await entriesOf(world, { subjects: [late] })).length, 1);
});

test("an entry inserted into an old month does not widen the drop of that month", async () => {
  const world = await open();
  await changesAt(world, ["2011-01-10T00:00:00Z", "2011-02-10T00:00:00Z", "2011-02-11T00:00:00Z"]);
  // The inserted entry claims that January spans the whole log except the last entry.
  const root = world.organization;
  const columns =
    "create_time, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address, user_agent, request_id, event_id, resource_uids, hash";
  const [last = 0, before = 0] = (await numbersOf(world)).reverse();
  await tamper(
    world,
    `insert into audit_entries (uid, sequence, seal_time, ${columns})
     select uid, sequence, '2011-01-31T12:00:00Z', ${columns} from audit_entries where left(uid, 40) = $1 and sequence = $2`,
    [root, before],
  );
  await tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence < $2 and seal_time >= '2011-02-01'", [root, last]);
  world.clock.now = Date.parse("2011-02-20T00:00:00Z");
  await runMaintenance(world.server.application.kernel, { auditMonths: 1 });
  const { whole: found, lines } = await verifyLogs(world);
  assert.equal(found, false);
  assert.ok(
    lines.some((line) => line.startsWith(root) && line.includes(`entry ${before} is missing`)),
    lines.join("\n"),
  );
});

test("a clock that jumps back, even across a month, keeps entries in order", async () => {
  const world = await open();
  const made = await changesAt(world, ["2011-03-01T00:00:05Z", "2011-02-27T00:00:00Z", "2011-02-27T00:00:00Z", "2011-03-01T00:00:05.001Z"]);
  const told = await entriesOf(world, { subjects: made });
  assert.deepEqual(
    told.map(({ subject }) => subject),
    made,
  );
  const times = told.map(({ sealTime }) => String(sealTime));
  assert.deepEqual([...new Set(times)].sort(), times);
  assert.ok(times.every((time) => time.startsWith("2011-03-01")));
  await whole(world);
});

// ---- servers ----------------------------------------------------------------------------------------------------

/** Asserts that the log has exactly one entry for each event of the outbox. */
const eachOnce = async (world: World): Promise<void> => {
  const wrong = await tamper(
    world,
    `select event.event_id, count(entry.event_id)
     from outbox as event left join audit_entries as entry on entry.event_id = event.event_id::text
     group by event.event_id having count(entry.event_id) <> 1`,
  );
  assert.deepEqual(wrong, []);
  const [[events, entries] = []] = await tamper(world, "select (select count(*) from outbox), (select count(*) from audit_entries)");
  assert.equal(entries, events);
  for (const [root] of await tamper(world, "select root from audit_chains")) {
    const numbers = await numbersOf(world, root ?? "");
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
  }
  await whole(world);
};

test("with many writers and two servers sealing concurrently, each committed change has one entry and chains have no gap", async () => {
  const worlds = await openTwo();
  const [world, second] = worlds;
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "the other organization" } }), "uid");
  const made: string[] = [];
  let writing = true;
  const sealing = worlds.map(async (each) => {
    while (writing) await sealAudit(each);
  });
  await Promise.all(
    Array.from({ length: 16 }, async (_, writer) => {
      for (let step = 0; step < 12; step++) {
        const at = worlds[(writer + step) % 2] ?? world;
        const parent = writer % 4 ? world.organization : other;
        if (step % 4 === 3)
          await at.call("registry.ReposService/CreateRepo", { parent, repo: { name: "taken" } }, step % 8 === 3 ? { validateOnly: true } : {});
        else made.push(await change(at, parent));
      }
    }),
  );
  writing = false;
  await Promise.all(sealing);
  await Promise.all(worlds.map(sealAudit));
  await eachOnce(world);
  await whole(second);
  const told = await tamper(
    world,
    "select subject from audit_entries where operation = 'chainguard.platform.iam.v2.GroupsService/CreateGroup' and subject = any($1::text[])",
    [`{${made.join(",")}}`],
  );
  assert.deepEqual(told.map(([subject]) => subject ?? "").sort(), [...made].sort());
  assert.equal(
    (await tamper(world, "select 1 from audit_entries where type = 'dev.chainguard.api.platform.registry.repo.created.v1' and code = 'OK'")).length,
    2,
  );
});

test("more events than one step seals are sealed in several steps, in order", async () => {
  const world = await open();
  const { clock } = world.server.application.services;
  await tamper(
    world,
    `insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
    select gen_random_uuid(), 'many', '', $1, $1, 'internal', '{}', '', '{}', number::text, $2 from generate_series(1, ${2 * limits.sealedMax + 7}) as number`,
    [world.organization, timestamp(clock())],
  );
  while (await world.server.application.numberEvents(timestamp(clock())));
  await sealAudit(world);
  await eachOnce(world);
  const told = await tamper(world, "select request_id from audit_entries where type = 'many' order by sequence");
  assert.deepEqual(
    told.map(([number]) => Number(number)),
    Array.from({ length: 2 * limits.sealedMax + 7 }, (_, index) => index + 1),
  );
});

for (const [title, table] of [
  ["the entries are in", "audit_chains"],
  ["all but the last line is written", "audit_progress"],
] as const) {
  test(`a sealing step that fails when ${title} loses and duplicates nothing`, async () => {
    const world = await open();
    await change(world);
    await sealAudit(world);
    const made = [await change(world), await change(world)];
    await tamper(world, "create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$");
    await tamper(world, `create trigger fail before insert or update on ${table} for each row execute function fail()`);
    const before = await numbersOf(world);
    for (let tries = 0; tries < 3; tries++) await assert.rejects(sealAudit(world));
    assert.deepEqual(await numbersOf(world), before);
    await whole(world);
    await tamper(world, `drop trigger fail on ${table}`);
    assert.deepEqual(
      (await entriesOf(world, { subjects: made })).map(({ subject }) => subject),
      made,
    );
    await eachOnce(world);
  });
}

test("servers killed while sealing lose and duplicate nothing, and the next server seals the rest", async () => {
  const installation = await openInstallation();
  closing.push(() => installation.close());
  const { world } = installation;
  const made: string[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const port = await freePort();
    const server = start(gantryFile, ["serve"], { env: { ...installation.environment, GANTRY_LISTEN: `127.0.0.1:${port}` } });
    await server.says(/Gantry serves/);
    const before = (await numbersOf(world)).length;
    let over = false;
    const writing = Promise.all(
      Array.from({ length: 6 }, async () => {
        while (!over) made.push(await change(world));
      }),
    );
    while ((await numbersOf(world)).length < before + 10) await change(world).then((uid) => made.push(uid));
    server.signal("SIGKILL");
    await server.ended;
    over = true;
    await writing;
  }
  await sealAudit(world);
  await eachOnce(world);
  const told = new Set((await tamper(world, "select subject from audit_entries")).map(([subject]) => subject));
  assert.deepEqual(
    made.filter((uid) => !told.has(uid)),
    [],
  );
});

// ---- poison events ----------------------------------------------------------------------------------------------

test("an event that cannot be sealed is set aside under its name, sealing continues, and it is sealed when possible", async () => {
  const lines: string[] = [];
  const world = await openWorld({ GANTRY_OPEN_ORGANIZATIONS: "true" }, (event, fields) => void lines.push(`${event} ${JSON.stringify(fields)}`));
  closing.push(() => world.close());
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "beside" } }), "uid");
  await sealAudit(world);
  const poisoned = await change(world);
  const behind = [await change(world), await change(world, other), await change(world)];
  await tamper(
    world,
    `create function refuse_entry() returns trigger language plpgsql as $$
     begin if new.subject = '${poisoned}' then raise exception 'no'; end if; return new; end $$`,
  );
  await tamper(world, "create trigger refuse_entry before insert on audit_entries for each row execute function refuse_entry()");
  const [[position] = []] = await tamper(world, "select position from outbox where subject = $1", [poisoned]);
  assert.equal(position, null, "not numbered yet");
  const subjects = async (): Promise<unknown[]> => (await entriesOf(world, { subjects: [poisoned, ...behind] })).map(({ subject }) => subject);
  assert.deepEqual((await subjects()).toSorted(), behind.toSorted());
  const [[numbered] = []] = await tamper(world, "select position from outbox where subject = $1", [poisoned]);
  assert.deepEqual(
    lines.filter((line) => line.includes("set_aside")).map((line) => /^audit.event.set_aside .*"position":(\d+)/.exec(line)?.[1]),
    [numbered],
  );
  const found = await verifyLogs(world);
  assert.equal(found.whole, false);
  assert.match(found.lines.join("\n"), new RegExp(`the event at position ${numbered} could not be sealed yet`));
  for (let round = 0; round < 4; round++) {
    world.clock.now += limits.eventRetentionMs;
    await runMaintenance(world.server.application.kernel);
    await sealAudit(world);
    await sealAudit(world);
  }
  assert.equal(lines.filter((line) => line.includes("set_aside")).length, 5);
  assert.equal((await tamper(world, "select 1 from outbox where subject = $1", [poisoned])).length, 1);
  await tamper(world, "drop trigger refuse_entry on audit_entries");
  world.clock.now += limits.setAsideMaxMs;
  await sealAudit(world);
  assert.deepEqual((await subjects()).toSorted(), [poisoned, ...behind].toSorted());
  await whole(world);
});

test("an event that was set aside and then deleted from the database is reported permanently", async () => {
  const world = await open();
  await sealAudit(world);
  const poisoned = await change(world);
  await change(world);
  await tamper(
    world,
    `create function refuse_entry() returns trigger language plpgsql as $$
     begin if new.subject = '${poisoned}' then raise exception 'no'; end if; return new; end $$`,
  );
  await tamper(world, "create trigger refuse_entry before insert on audit_entries for each row execute function refuse_entry()");
  await sealAudit(world);
  await tamper(world, "update audit_progress set set_aside = '{}'");
  await tamper(world, "delete from outbox where subject = $1", [poisoned]);
  world.clock.now += limits.setAsideMaxMs;
  await sealAudit(world);
  await change(world);
  await sealAudit(world);
  const { whole, lines } = await verifyLogs(world);
  assert.equal(whole, false);
  assert.match(lines.join("\n"), /events were removed before they were sealed/);
});

test("a server without delivery seals the log as soon as events have positions", async () => {
  const world = await open();
  const made = await change(world);
  assert.deepEqual(
    (await entriesOf(world, { subjects: [made] })).map(({ subject }) => subject),
    [made],
  );
  assert.equal((await tamper(world, "select 1 from deliveries")).length, 0);
});

// ---- deleting events --------------------------------------------------------------------------------------------

test("an event is deleted only after it is sealed, whatever its age", async () => {
  const world = await open();
  const { store } = world.server.application.services;
  const made = [await change(world), await change(world), await change(world)];
  while (await world.server.application.numberEvents(timestamp(world.clock.now)));
  const events = async (): Promise<number> => (await tamper(world, "select 1 from outbox")).length;
  const before = await events();
  world.clock.now += 2 * limits.eventRetentionMs;
  for (const retention of retentions) await retention.deleteExpired(store, world.clock.now, defaultPeriods);
  await runMaintenance(world.server.application.kernel);
  assert.equal(await events(), before);
  const sealNext = openSealing(store, world.server.application.services.seal, silent);
  while (await sealNext(timestamp(world.clock.now)));
  for (const retention of retentions) await retention.deleteExpired(store, world.clock.now, defaultPeriods);
  assert.equal(await events(), 1);
  const told: JsonObject[] = await entriesOf(world, { subjects: made });
  assert.deepEqual(
    told.map(({ subject }) => subject),
    made,
  );
  await whole(world);
  assert.equal((await entriesOf(world, { subjects: [await change(world)] })).length, 1);
  await whole(world);
});
