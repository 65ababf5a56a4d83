// Attacks on the audit log: with the database but not the secret key, with both but not the copies kept elsewhere, and by callers who try to
// fill, forge or break it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { operatorUid } from "#base/operator.ts";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newRoot } from "#base/uid.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { reportAudit } from "../../cli/audit-report.ts";
import { type Entry, hashEntry } from "../../server/audit/log/chain.ts";
import { combineNonces, openHead, readProgress, writeHead, writeProgress } from "../../server/audit/log/heads.ts";
import { entriesOf, sealAudit, tamper, verifyInSteps, verifyLogs } from "../audit.ts";
import { shareOf } from "../length.ts";
import { openOwners } from "../owner.ts";
import { createIdentity, openInstallation, type Installation } from "../story/installation.ts";
import { type Issuer, startIssuer, stopAll } from "../story/processes.ts";
import { openWorld, type World } from "../world.ts";

const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  await stopAll();
  for (const close of closing.reverse()) await close();
});

/** A log of two organizations, and copies of its tables from earlier times. */
interface Ground {
  readonly world: World;
  readonly one: string;
  readonly other: string;
  /** Tokens of their owners. */
  readonly tokens: { readonly one: string; readonly other: string };
  /** audit_chains.sealed by organization, and audit_progress. */
  readonly early: Saved;
  readonly middle: Saved;
}

interface Saved {
  readonly chains: ReadonlyMap<string, string>;
  readonly position: string;
  readonly sealed: string;
  /** The last sequence number of the first organization. */
  readonly last: number;
}

const change = async (world: World, group: string): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "changed" } }), "uid");

const lastOf = async (world: World, root: string): Promise<number> => {
  const [[last] = []] = await tamper(world, "select max(sequence) from audit_entries where left(uid, 40) = $1", [root]);
  return Number(last);
};

const save = async (world: World, root: string): Promise<Saved> => {
  await sealAudit(world);
  const chains = new Map((await tamper(world, "select root, sealed from audit_chains")).map(([of, sealed]) => [of ?? "", sealed ?? ""]));
  const [[position, sealed] = []] = await tamper(world, "select position, sealed from audit_progress");
  return { chains, position: position ?? "", sealed: sealed ?? "", last: await lastOf(world, root) };
};

const openGround = async (context: TestContext): Promise<Ground> => {
  const world = await openWorld();
  context.after(() => world.close());
  const one = world.organization;
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "the other organization" } }), "uid");
  const owners = openOwners(world);
  const token = await owners.token(one);
  // Entries with the same number have different times of sealing.
  await sealAudit(world);
  const tokens = { one: token, other: await owners.token(other) };
  for (let step = 0; step < 5; step++) await change(world, step % 2 ? other : one);
  const early = await save(world, one);
  for (let step = 0; step < 3; step++) await change(world, one);
  const middle = await save(world, one);
  for (let step = 0; step < 3; step++) await change(world, other);
  await save(world, one);
  assert.deepEqual(await verifyLogs(world).then(({ whole, lines }) => [whole, lines.length]), [true, 2]);
  return { world, one, other, tokens, early, middle };
};

const deleteBehind = ({ world }: Ground, root: string, sequence: number) =>
  tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence > $2", [root, sequence]);
const putSealBack = ({ world }: Ground, root: string, { chains }: Saved) =>
  tamper(world, "update audit_chains set sealed = $2 where root = $1", [root, chains.get(root) ?? ""]);
const putProgressBack = ({ world }: Ground, { position, sealed }: Saved) =>
  tamper(world, "update audit_progress set position = $1, sealed = $2", [position, sealed]);

const columns =
  "uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, " +
  "binding_uids, remote_address, user_agent, request_id, event_id, resource_uids, hash";
/** Returns the columns after these, to copy a row that differs in the leading ones. */
const columnsAfter = (leading: string): string => columns.slice(`${leading}, `.length);

const rehash = async (world: World, root: string): Promise<void> => {
  const time = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const rows = await tamper(
    world,
    `select ${columns.replace("create_time, seal_time", `${time("create_time")}, ${time("seal_time")}`)}
     from audit_entries where left(uid, 40) = $1 order by sequence`,
    [root],
  );
  let hash = "";
  for (const row of rows) {
    const at = (index: number): string => row[index] ?? "";
    const entry: Entry = {
      uid: at(0),
      sequence: Number(at(1)),
      createTime: at(2),
      sealTime: at(3),
      callerUid: at(4),
      act: JSON.parse(at(5)) as Record<string, string>,
      operation: at(6),
      subject: at(7),
      type: at(8),
      code: at(9),
      count: Number(at(10)),
      bindingUids: JSON.parse(at(11)) as string[],
      remoteAddress: at(12),
      userAgent: at(13),
      requestId: at(14),
      eventId: at(15),
      resourceUids: JSON.parse(at(16)) as string[],
    };
    hash = hashEntry(hash, entry);
    await tamper(world, "update audit_entries set hash = $3 where uid = $1 and sequence = $2", [entry.uid, entry.sequence, hash]);
  }
};

interface Tampering {
  readonly title: string;
  readonly does: (ground: Ground) => Promise<unknown>;
  /** The expected problem; $ONE is the uid of the first organization. */
  readonly says: RegExp;
  /** Set if no entry was lost, so that the next entries make the log valid again. */
  readonly heals?: true;
}

const tamperings: readonly Tampering[] = [
  {
    title: "an entry moved to another organization",
    does: ({ world, one, other }) =>
      tamper(world, "update audit_entries set uid = $2 || right(uid, -40) where left(uid, 40) = $1 and sequence = 3", [one, other]),
    says: /^\$ONE .*NOT INTACT: entry 3 is missing$/,
  },
  {
    title: "a changed entry with all later hashes recomputed",
    does: async ({ world, one }) => {
      await tamper(world, "update audit_entries set caller_uid = '' where left(uid, 40) = $1 and sequence = 3", [one]);
      await rehash(world, one);
    },
    says: /^\$ONE .*NOT INTACT: entry \d+ is not the one that was sealed$/,
  },
  {
    title: "a deleted entry in the middle",
    does: ({ world, one }) => tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence = 3", [one]),
    says: /^\$ONE .*NOT INTACT: entry 3 is missing$/,
  },
  {
    title: "a deleted entry in the middle with the later ones renumbered",
    does: async ({ world, one }) => {
      await tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence = 3", [one]);
      await tamper(
        world,
        `update audit_entries set sequence = sequence - 1, uid = left(uid, -16) || lpad(to_hex(sequence - 1), 16, '0')
         where left(uid, 40) = $1 and sequence > 3`,
        [one],
      );
      await rehash(world, one);
    },
    says: /^\$ONE .*NOT INTACT: entry \d+ is missing$/,
  },
  {
    title: "deleted last entries",
    does: (ground) => deleteBehind(ground, ground.one, ground.early.last),
    says: /^\$ONE .*NOT INTACT: entries \d+ to \d+ are missing$/,
  },
  {
    title: "deleted last entries with the seal from before them",
    does: async (ground) => {
      await deleteBehind(ground, ground.one, ground.early.last);
      await putSealBack(ground, ground.one, ground.early);
    },
    says: /^all logs {2}NOT INTACT: 3 entries that were sealed are in no chain$/,
  },
  {
    title: "deleted last entries with a seal over all whose numbers fit",
    does: async (ground) => {
      await deleteBehind(ground, ground.one, ground.early.last);
      await putSealBack(ground, ground.one, ground.early);
      // Three were sealed after the middle too: as many as are missing.
      await putProgressBack(ground, ground.middle);
    },
    says: /^all logs {2}NOT INTACT: .* not of the same time: some of them are older ones$/,
  },
  {
    title: "an older seal before entries that still exist",
    does: (ground) => putSealBack(ground, ground.one, ground.early),
    says: /^\$ONE .*NOT INTACT: entry \d+ and those after it were never sealed$/,
  },
  {
    title: "a whole log deleted with its seal",
    does: async ({ world, other }) => {
      await tamper(world, "delete from audit_entries where left(uid, 40) = $1", [other]);
      await tamper(world, "delete from audit_chains where root = $1", [other]);
    },
    says: /^all logs {2}NOT INTACT: \d+ entries that were sealed are in no chain$/,
  },
  {
    title: "a deleted seal",
    does: ({ world, one }) => tamper(world, "delete from audit_chains where root = $1", [one]),
    says: /^\$ONE .*NOT INTACT: the chain's seal is missing/,
  },
  {
    title: "a damaged seal",
    does: ({ world, one }) => tamper(world, "update audit_chains set sealed = 'x' || sealed where root = $1", [one]),
    says: /^\$ONE .*NOT INTACT: the chain's seal is missing, or cannot be opened/,
  },
  {
    title: "a forged entry at the end",
    does: ({ world, one }) =>
      tamper(
        world,
        `insert into audit_entries (${columns}) select left(uid, -16) || lpad(to_hex(sequence + 1), 16, '0'), sequence + 1, ${columnsAfter("uid, sequence")}
         from audit_entries where left(uid, 40) = $1 order by sequence desc limit 1`,
        [one],
      ),
    says: /^\$ONE .*NOT INTACT: entry \d+ and those after it were never sealed$/,
  },
  {
    title: "a forged entry with the largest possible number and an invalid seal",
    does: async ({ world, one }) => {
      await tamper(
        world,
        `insert into audit_entries (${columns}) select left(uid, -16) || 'ffffffffffffffff', 9223372036854775807, ${columnsAfter("uid, sequence")}
         from audit_entries where left(uid, 40) = $1 limit 1`,
        [one],
      );
      await tamper(world, "update audit_chains set sealed = '' where root = $1", [one]);
    },
    says: /^\$ONE .*NOT INTACT: the chain's seal is missing/,
  },
  {
    title: "a forged entry before the beginning",
    does: ({ world, one }) =>
      tamper(
        world,
        `insert into audit_entries (${columns}) select left(uid, -16) || '0000000000000000', 0, ${columnsAfter("uid, sequence")}
         from audit_entries where left(uid, 40) = $1 limit 1`,
        [one],
      ),
    says: /^\$ONE .*NOT INTACT: entry 0 is there/,
  },
  {
    title: "a second entry with an existing number",
    does: ({ world, one }) =>
      tamper(
        world,
        `insert into audit_entries (${columns})
         select uid, sequence, create_time, seal_time + interval '1 millisecond', ${columnsAfter("uid, sequence, create_time, seal_time")}
         from audit_entries where left(uid, 40) = $1 and sequence = 3`,
        [one],
      ),
    says: /^\$ONE .*NOT INTACT: entry 3 occurs twice$/,
  },
  {
    title: "entries of an organization that never existed",
    does: ({ world, one }) =>
      tamper(
        world,
        `insert into audit_entries (${columns}) select repeat('f', 40) || right(uid, -40), sequence, ${columnsAfter("uid, sequence")}
         from audit_entries where left(uid, 40) = $1`,
        [one],
      ),
    says: /^f{40} .*NOT INTACT: the chain's seal is missing/,
  },
  {
    title: "swapped seals of two organizations",
    does: async ({ world, one, other }) => {
      const { chains } = await save(world, one);
      await tamper(world, "update audit_chains set sealed = $2 where root = $1", [one, chains.get(other) ?? ""]);
      await tamper(world, "update audit_chains set sealed = $2 where root = $1", [other, chains.get(one) ?? ""]);
    },
    says: /^\$ONE .*NOT INTACT: the chain's seal is missing, or cannot be opened/,
  },
  {
    title: "a beginning deleted as if its retention had ended",
    does: ({ world, one }) => tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence <= 2", [one]),
    says: /^\$ONE .*NOT INTACT: entry 1 is missing$/,
  },
  {
    title: "a raised position that would skip events",
    does: ({ world }) => tamper(world, "update audit_progress set position = position + 1000000"),
    says: /^all logs {2}NOT INTACT: events up to \d+ are marked as sealed, and it is those up to \d+ that are$/,
    heals: true,
  },
  {
    title: "a seal over all restored to an older one",
    does: (ground) => putProgressBack(ground, ground.early),
    says: /^all logs {2}NOT INTACT: 6 entries more are in the chains than the seal over all of them knows/,
  },
  {
    title: "a seal over all restored to before the first entry",
    does: ({ world }) => tamper(world, "update audit_progress set position = 0, sealed = ''"),
    says: /^all logs {2}NOT INTACT: \d+ entries more are in the chains/,
  },
  {
    title: "a damaged seal over all with a raised position",
    does: ({ world }) => tamper(world, "update audit_progress set position = 1000000000, sealed = 'x'"),
    says: /^all logs {2}NOT INTACT: the seal over all chains is missing, or cannot be opened/,
  },
  {
    title: "a deleted seal over all",
    does: ({ world }) => tamper(world, "delete from audit_progress"),
    says: /^all logs {2}NOT INTACT: the seal over all chains is missing/,
  },
];

const changes: readonly string[] = [
  "create_time = create_time - interval '1 hour'",
  "create_time = (create_time::text || ' BC')::timestamptz",
  "seal_time = seal_time + interval '1 millisecond'",
  "sequence = 9000",
  "caller_uid = ''",
  "act = jsonb_build_object('email', 'mallory@example.com')",
  "act = 'null'",
  "act = '7'",
  "act = '[]'",
  "operation = 'none'",
  "subject = ''",
  "type = ''",
  "code = 'PERMISSION_DENIED'",
  "count = 2",
  "binding_uids = '[7]'",
  "binding_uids = 'null'",
  "binding_uids = '{}'",
  "remote_address = '192.0.2.1'",
  "user_agent = 'none'",
  "request_id = ''",
  "event_id = ''",
  "resource_uids = '[7]'",
  "resource_uids = binding_uids || '[\"one more\"]'",
  "resource_uids = 'null'",
  "resource_uids = '{}'",
  "hash = ''",
];

test("attack 31: without the key, a change to any column of an entry is detected", async (t) => {
  const { world, one } = await openGround(t);
  await tamper(world, "create table copied as select * from audit_entries");
  for (const set of shareOf(changes, 2)) {
    await tamper(world, `update audit_entries set ${set} where left(uid, 40) = $1 and sequence = 3`, [one]);
    const { whole, lines } = await verifyLogs(world);
    assert.equal(whole, false, set);
    assert.ok(
      lines.some((line) => line.startsWith(one) && /NOT INTACT: entry 3 (?:\(\S+\) or the entry before it has been changed|is missing)/.test(line)),
      `${set}: ${lines.join("\n")}`,
    );
    await tamper(world, "delete from audit_entries");
    await tamper(world, "insert into audit_entries select * from copied");
    assert.equal((await verifyLogs(world)).whole, true, set);
  }
});

/** What `gantry audit verify` concludes about one organization's log. */
const verdictOf = async (world: World, root: string): Promise<JsonObject> => {
  const verdicts = (await verifyLogs(world, { json: true })).lines.map((line) => JSON.parse(line) as JsonObject);
  return verdicts.find(({ organization }) => organization === root) ?? {};
};

/** The owner's verification by the API has the same conclusion, whatever the size of its steps. */
const requireSameVerdict = async ({ world, one, tokens }: Ground): Promise<void> => {
  const verdict = await verdictOf(world, one);
  for (const maxEntries of [2, 10_000]) {
    const { reply } = await verifyInSteps(world, one, { token: tokens.one, maxEntries });
    const descriptions = objectList(reply, "problems").map(({ description = "" }) => description);
    assert.deepEqual(descriptions, verdict.problems);
    assert.equal(text(reply, "state"), `AUDIT_VERIFICATION_STATE_${descriptions.length > 0 ? "NOT_INTACT" : "INTACT"}`);
    assert.equal(Number(reply.entryCount ?? 0), verdict.entries);
  }
};

for (const { title, does, says, heals } of shareOf(tamperings, 2)) {
  test(`without the key, tampering is detected and does not stop the log: ${title}`, async (t) => {
    const ground = await openGround(t);
    const { world, one, other } = ground;
    await does(ground);
    const said = new RegExp(says.source.replace("\\$ONE", one));
    const found = await verifyLogs(world);
    assert.equal(found.whole, false);
    assert.ok(
      found.lines.some((line) => said.test(line)),
      found.lines.join("\n"),
    );
    await requireSameVerdict(ground);
    // Both organizations log further entries, more than once, and verification still finds the tampering.
    for (let step = 0; step < 2; step++) {
      for (const group of [one, other]) {
        const uid = await change(world, group);
        const told = await entriesOf(world, { subjects: [uid] });
        assert.equal(told.length, 1, `of a change after it: ${JSON.stringify(told)}`);
      }
    }
    assert.equal((await verifyLogs(world)).whole, heals === true, (await verifyLogs(world)).lines.join("\n"));
  });
}

test("verification of one organization alone detects an older seal", async (t) => {
  const ground = await openGround(t);
  await deleteBehind(ground, ground.one, ground.early.last);
  await putSealBack(ground, ground.one, ground.early);
  assert.equal((await verifyLogs(ground.world, { group: ground.one })).whole, false);
});

/** Returns the progress that an interrupted `gantry audit verify --resume` writes. */
const interruptVerification = async (world: World, group: string, file: string): Promise<string> => {
  const stopped = new Error("interrupted");
  const run = reportAudit(world.server.application, {
    ...{ group, known: undefined, resume: file, json: false, progress: () => {} },
    write() {
      throw stopped;
    },
  });
  await assert.rejects(run, stopped);
  return readFile(file, "utf8");
};

test("attack 389: a verification continues only after entries that a run of the last day with this key has verified", async (t) => {
  const { world, one } = await openGround(t);
  const folder = await mkdtemp(join(tmpdir(), "gantry-resume-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "verification");
  const resume = () => verifyLogs(world, { group: one, resume: file });
  const written = await interruptVerification(world, one, file);
  // It is exactly as good as the first run: entries before are not read again, and the end says so.
  const found = await resume();
  assert.equal(found.whole, true);
  assert.match(found.lines.join("\n"), /intact: .*; entries up to \d+ were verified by an interrupted run that began at \S+Z/);
  assert.equal(existsSync(file), false);
  await tamper(world, "update audit_entries set caller_uid = '' where left(uid, 40) = $1 and sequence = 2", [one]);

  // Of another key, or changed.
  for (const text of ["forged\n", `A${written.slice(1)}`]) {
    await writeFile(file, text);
    await assert.rejects(resume(), /--resume: the file was not written by gantry audit verify with this secret key/);
  }
  // Of another day: everything is read again.
  await writeFile(file, written);
  world.clock.now += limits.verifiedPartMs;
  assert.match((await resume()).lines.join("\n"), /NOT INTACT: entry 2 /);
  world.clock.now -= limits.verifiedPartMs;
  // Compared with another known end: everything is read again.
  await writeFile(file, written);
  const known = join(folder, "known.jsonl");
  await writeFile(known, `${JSON.stringify({ organization: one, last: { sequence: 3, hash: "0".repeat(64) }, problems: [] })}\n`);
  assert.match((await verifyLogs(world, { group: one, resume: file, known })).lines.join("\n"), /NOT INTACT: entry 2 /);
});

test("attack 394: a verification by the API continues only with a token of the last day that was issued for the same organization", async (t) => {
  const { world, one, other, tokens } = await openGround(t);
  const folder = await mkdtemp(join(tmpdir(), "gantry-token-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const verify = (uid: string, token: string, more: JsonObject = {}) =>
    world.call("gantry.audit.v1.AuditService/VerifyAuditEntries", { uid, maxEntries: 2, ...more }, { token });
  const begun = await verify(one, tokens.one);
  assert.equal(begun.reply.state, "AUDIT_VERIFICATION_STATE_INTACT_SO_FAR");
  const continueToken = text(begun.reply, "continueToken");
  const forged = [
    text((await verify(other, tokens.other)).reply, "continueToken"),
    `${continueToken.slice(0, -4)}AAAA`,
    (await interruptVerification(world, one, join(folder, "verification"))).trim(),
    "forged",
  ];
  for (const each of forged) {
    const { code, message } = await verify(one, tokens.one, { continueToken: each });
    assert.deepEqual([code, message.includes("was not issued by this server for this organization")], [codes.INVALID_ARGUMENT, true], message);
  }
  assert.equal((await verify(one, tokens.one, { continueToken })).reply.entryCount, "4");
  world.clock.now += limits.verifiedPartMs;
  const expired = await verify(one, await openOwners(world).token(one), { continueToken });
  assert.deepEqual([expired.code, expired.message.includes("has expired")], [codes.INVALID_ARGUMENT, true], expired.message);
  // A problem of one log is no problem of another.
  await tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence = 2", [one]);
  const { reply } = await verifyInSteps(world, other, { token: await openOwners(world).token(other), maxEntries: 3 });
  assert.equal(reply.state, "AUDIT_VERIFICATION_STATE_INTACT");
});

test("a clean log verifies while other parts of it are being sealed", async (t) => {
  const { world, one, other } = await openGround(t);
  let over = false;
  const writing = (async () => {
    while (!over) {
      await Promise.all([change(world, one), change(world, other), change(world, one)]);
      await sealAudit(world);
    }
  })();
  for (let turn = 0; turn < 25; turn++)
    assert.deepEqual(
      (await verifyLogs(world)).lines.filter((line) => line.includes("NOT INTACT")),
      [],
    );
  over = true;
  await writing;
  assert.equal((await verifyLogs(world)).whole, true);
});

test("gantry audit verify exits with 0 for a clean log, and otherwise with 1 and a line with organization and entry", async () => {
  const installation = await openInstallation();
  closing.push(() => installation.close());
  const { world, environment } = installation;
  for (let step = 0; step < 4; step++) await change(world, world.organization);
  await sealAudit(world);
  const run = (...args: string[]) => gantryAnywhere(["audit", "verify", ...args], { env: environment });
  const clean = await run();
  assert.deepEqual([clean.code, clean.stderr], [0, ""]);
  assert.match(clean.stdout, new RegExp(`^${world.organization} .*intact: 5 entries, the last is 5 with hash [0-9a-f]{64}$`, "m"));
  await tamper(world, "update audit_entries set caller_uid = '' where left(uid, 40) = $1 and sequence = 2", [world.organization]);
  const found = await run();
  assert.deepEqual([found.code, found.stderr], [1, ""]);
  assert.match(
    found.stdout,
    new RegExp(`^${world.organization} .*NOT INTACT: entry 2 \\(${world.organization}/\\S+/0{15}2\\) or the entry before it has been changed$`, "m"),
  );
  const one = await run("--group", world.organization, "--json");
  assert.equal(one.code, 1);
  assert.match(one.stdout, new RegExp(`^\\{"organization":"${world.organization}",.*"problems":\\["entry 2 `));
});

test("attack 31: a copy kept elsewhere reveals entries removed or rewritten with the secret key", async () => {
  const installation = await openInstallation();
  const folder = await mkdtemp(join(tmpdir(), "gantry-known-"));
  closing.push(
    () => rm(folder, { recursive: true, force: true }),
    () => installation.close(),
  );
  const { world, environment } = installation;
  const root = world.organization;
  for (let step = 0; step < 5; step++) await change(world, root);
  await sealAudit(world);
  const known = join(folder, "known.jsonl");
  // A log that does not verify says nothing about the others.
  const broken = [{ organization: "0".repeat(40), entries: 0, last: null, problems: ["the chain's seal is missing"] }, { problems: ["an earlier seal"] }]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
  await writeFile(known, (await gantryAnywhere(["audit", "verify", "--json"], { env: environment })).stdout + broken);
  assert.equal((await verifyLogs(world, { known })).whole, true);

  const { store, seal: vault } = world.server.application.services;
  const headOf = async () => openHead(vault, root, (await tamper(world, "select sealed from audit_chains where root = $1", [root]))[0]?.[0] ?? "");
  /** Cuts the chain after this entry with the key, so that every seal fits. */
  const cut = async (sequence: number): Promise<void> => {
    await tamper(world, "delete from audit_entries where left(uid, 40) = $1 and sequence > $2", [root, sequence]);
    const [head, progress] = [await headOf(), await readProgress(store.read, vault)];
    const [[hash] = []] = await tamper(world, "select hash from audit_entries where left(uid, 40) = $1 and sequence = $2", [root, sequence]);
    assert.ok(head && progress);
    const shorter = { ...head, last: { sequence, hash: hash ?? "" }, nonce: "ab" };
    await store.write(async (rows) => {
      await writeHead(rows, vault, root, shorter);
      await writeProgress(rows, vault, {
        ...progress,
        entries: progress.entries - (head.last.sequence - sequence),
        combinedNonce: combineNonces(combineNonces(progress.combinedNonce, head.nonce), "ab"),
      });
    });
  };
  await cut(4);
  assert.equal((await verifyLogs(world)).whole, true, "without what was kept elsewhere it cannot be told");
  const { code, stdout } = await gantryAnywhere(["audit", "verify", "--known", known], { env: environment });
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^${root} .*NOT INTACT: the chain ends at entry 4, and entry 6 was known before$`, "m"));
  // After new entries, the log has its old length but different content.
  for (let step = 0; step < 3; step++) await change(world, root);
  await sealAudit(world);
  const filled = await verifyLogs(world, { known });
  assert.ok(
    filled.lines.some((line) => line.startsWith(root) && line.endsWith("NOT INTACT: entry 6 is not the one that was known before")),
    filled.lines.join("\n"),
  );
});

let installation: Installation;
let issuer: Issuer;
before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  closing.push(
    () => installation.close(),
    () => issuer.close(),
  );
});

/** Returns a token of the issuer by the server's clock, which lags behind the machine's by the run time of earlier tests. */
const issuedToken = (claims: Readonly<Record<string, unknown>>): Promise<string> => {
  const issued = Math.floor(installation.world.clock.now / 1000);
  return issuer.token({ iat: issued, exp: issued + 3600, ...claims });
};

const chains = async (): Promise<number> => (await tamper(installation.world, "select 1 from audit_chains")).length;

test("attack 32: refused requests for organizations that do not exist create no logs", async () => {
  const { world } = installation;
  const member = await createIdentity(world, world.organization, "member", { issuer: issuer.url, subject: "member" });
  await sealAudit(world);
  const before = await chains();
  const token = await world.token(member);
  const made = Array.from({ length: 20 }, newRoot);
  for (const uid of made) {
    for (const given of [token, "nobody's", undefined]) await world.call("iam.GroupsService/DeleteGroup", { uid }, { token: given });
  }
  await sealAudit(world);
  assert.ok((await chains()) <= before + 1);
  const told = await entriesOf(world, { subjects: made });
  assert.ok(told.every(({ uid }) => [world.organization, operatorUid].includes(String(uid).slice(0, 40))));
});

test("requests without a valid token are logged for the operator only, not in an organization's log", async () => {
  const { world } = installation;
  world.clock.now += 2 * limits.refusalsWindowMs;
  await sealAudit(world);
  const before = await lastOf(world, world.organization);
  for (const protocol of ["rest", "grpc"] as const) {
    for (const token of ["nobody's", undefined]) {
      assert.equal((await world.call("iam.GroupsService/DeleteGroup", { uid: world.organization }, { token, protocol })).code, codes.UNAUTHENTICATED);
    }
  }
  const token = await issuedToken({ sub: "stranger", aud: world.url });
  assert.equal(
    (await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: `${world.organization}/0000000000000000` }, { token })).code,
    codes.PERMISSION_DENIED,
  );
  const told = (await entriesOf(world, { uidp: { childrenOf: operatorUid } })).filter(
    ({ createTime }) => createTime === new Date(world.clock.now).toISOString(),
  );
  assert.equal(told.length, 5);
  assert.equal(await lastOf(world, world.organization), before);
});

/** Sends a request with headers that no well-behaved client would send. */
const rawCall = (url: string, token: string, userAgent: string, path: string, body: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${url}${path}`,
      { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "user-agent": userAgent } },
      (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      },
    );
    sent.once("error", reject).end(Buffer.from(body));
  });

const agents: readonly (readonly [title: string, sent: string, kept: string])[] = [
  ["control characters", "a\tb\u0085c\u009b31md", "a\ufffdb\ufffdc\ufffd31md"],
  ["quotes, markup and JSON", `"'\\"><script>{"code":"OK"}--;`, `"'\\"><script>{"code":"OK"}--;`],
  ["escapes of JSON and of SQL", "\\u0000 \\ud800 $1 %00 E'\\x00'", "\\u0000 \\ud800 $1 %00 E'\\x00'"],
  ["eight thousand letters", "x".repeat(8000), "x".repeat(limits.userAgentLengthMax)],
];

for (const [title, sent, kept] of agents) {
  test(`a User-Agent of ${title} is logged as data, and the log stays intact`, async () => {
    const { world } = installation;
    world.clock.now += 2 * limits.refusalsWindowMs;
    const reader = await createIdentity(world, world.organization, "reader", { issuer: issuer.url, subject: "reader" });
    const body = JSON.stringify({ name: `by-a-program-${sent.length}` });
    assert.equal(await rawCall(world.url, await world.token(), sent, `/registry/v2/repos/${world.organization}`, body), 200);
    assert.equal(await rawCall(world.url, await world.token(reader), sent, `/registry/v2/repos/${world.organization}`, body), 403);
    assert.equal(await rawCall(world.url, "nobody's", sent, `/registry/v2/repos/${world.organization}`, body), 401);
    const newest = await entriesOf(world, { operations: ["chainguard.platform.registry.v2.ReposService/CreateRepo"], orderBy: "create_time desc" });
    const told = newest.slice(0, 3).map(({ code, userAgent }) => `${String(code)} ${String(userAgent)}`);
    assert.deepEqual(told.sort(), [`OK ${kept}`, `PERMISSION_DENIED ${kept}`, `UNAUTHENTICATED ${kept}`]);
    assert.equal((await verifyLogs(world)).whole, true);
  });
}

const strangeClaims: readonly (readonly [title: string, claims: Record<string, unknown>])[] = [
  [
    "keys that mean something to a program",
    JSON.parse(
      `{"sub": "a", "__proto__": {"sub": "b"}, "constructor": "c", "toString": "d", "act": {"sub": "e"}, "email": "f", "email_verified": true, "": "g"}`,
    ) as Record<string, unknown>,
  ],
  ["a subject of quotes, markup and escapes", { sub: `"'\\"><script>{"iss":"x"}\\u0000$1--` }],
  ["a subject of other scripts, and of pairs of surrogates", { sub: "אבג 漢字 😀\u202e" }],
  ["an address that says more than it should", { sub: "a", email: `"a b"@example.com`, email_verified: true }],
  ["a subject with a line break", { sub: "a\nb" }],
  ["a subject with a zero character", { sub: "a\u0000b" }],
  ["half a surrogate pair as the subject", { sub: "a\ud800b" }],
  ["an address with a zero character", { sub: "a", email: "a\u0000@example.com", email_verified: true }],
  ["half a surrogate pair in the address", { sub: "a", email: "\ud800@example.com", email_verified: true }],
  ["half a surrogate pair as an audience", { sub: "a", aud: ["$SERVER", "\udc00"] }],
];

for (const [title, claims] of strangeClaims) {
  test(`a token with ${title} is logged as data or refused whole, and the log stays intact`, async () => {
    const { world } = installation;
    const identity = await createIdentity(world, world.organization, `anybody-${strangeClaims.findIndex(([each]) => each === title)}`, {
      issuer: issuer.url,
      subjectPattern: "(?s).*",
    });
    const aud = Array.isArray(claims.aud) ? claims.aud.map((each) => (each === "$SERVER" ? world.url : String(each))) : world.url;
    const token = await issuedToken({ ...claims, aud });
    const answer = await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity }, { token });
    assert.ok([0, codes.UNAUTHENTICATED, codes.PERMISSION_DENIED, codes.INVALID_ARGUMENT].includes(answer.code as 0), `${answer.code} ${answer.message}`);
    const told = await entriesOf(world, { callerUids: [identity] });
    assert.equal(told.length, answer.code === 0 ? 1 : 0);
    if (answer.code === 0) {
      const act = told[0]?.act as Record<string, string>;
      assert.deepEqual([act.iss, act.sub], [issuer.url, claims.sub]);
      assert.ok(Object.keys(act).every((key) => ["iss", "sub", "aud", "email"].includes(key)));
    }
    assert.equal((await verifyLogs(world)).whole, true);
  });
}

test("attack 32: a refused request with a very long uid is logged, and so are all later entries", async () => {
  const { world } = installation;
  const member = await createIdentity(world, world.organization, "deep", { issuer: issuer.url, subject: "deep" });
  const level = (): string => `/${newRoot().slice(0, 16)}`;
  let uid = world.organization;
  while (uid.length + 17 <= limits.uidLengthMax) uid += level();
  assert.equal((await world.call("iam.GroupsService/DeleteGroup", { uid }, { token: await world.token(member) })).code, codes.PERMISSION_DENIED);
  const after = await change(world, world.organization);
  assert.equal((await entriesOf(world, { subjects: [after] })).length, 1);
  const [told] = await entriesOf(world, { subjects: [uid] });
  assert.equal(told?.code, "PERMISSION_DENIED");
  assert.ok(uid.startsWith(String(told?.uid).slice(0, -17)));
  assert.equal((await verifyLogs(world)).whole, true);
});

test("a group tree of maximum depth does not stop the log", async () => {
  const { world } = installation;
  let deepest = world.organization;
  for (;;) {
    const { code, reply } = await world.call("iam.GroupsService/CreateGroup", { parent: deepest, group: { name: "deeper" } });
    if (code !== 0) break;
    deepest = text(reply, "uid");
  }
  assert.ok(deepest.length > 1000, `only ${deepest.length}`);
  assert.equal((await entriesOf(world, { subjects: [deepest] })).length, 1);
  assert.equal((await verifyLogs(world)).whole, true);
});

for (const [title, settings, address] of [
  ["is not believed", {}, "127.0.0.1"],
  ["of a proxy that the operator trusts is, as far as that proxy wrote it", { GANTRY_TRUSTED_PROXIES: "127.0.0.0/8" }, "203.0.113.7"],
] as const) {
  test(`X-Forwarded-For ${title}`, async () => {
    const world = await openWorld(settings);
    closing.push(() => world.close());
    for (const protocol of ["rest", "grpc"] as const) {
      const headers = { "x-forwarded-for": "198.51.100.1, 203.0.113.7" };
      const { reply } = await world.call(
        "registry.ReposService/CreateRepo",
        { parent: world.organization, repo: { name: `made-by-${protocol}` } },
        { protocol, headers },
      );
      assert.equal(
        (await world.call("iam.GroupsService/DeleteGroup", { uid: world.organization }, { protocol, headers, token: "nobody's" })).code,
        codes.UNAUTHENTICATED,
      );
      const [done] = await entriesOf(world, { subjects: [text(reply, "uid")] });
      const refused = (await entriesOf(world, { codes: ["UNAUTHENTICATED"] })).at(-1);
      assert.deepEqual([done?.remoteAddress, refused?.remoteAddress], [address, address]);
    }
  });
}
