// Delivery of the audit log to the operator's targets: complete, in chain order, at least once, despite slow, dead or killed parties.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { appendFile, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { verifyRecords } from "#audit/log";
import { readTargets } from "#audit/targets";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openOutbound } from "#authn";
import { hashEntry } from "../../server/audit/log/chain.ts";
import type { AuditRecord } from "../../server/audit/log/record.ts";
import { sendToSyslog } from "../../server/audit/targets/send-syslog.ts";
import { exportAudit } from "#application";
import { reportAuditFile } from "../../cli/audit-report.ts";
import type { AuditExport } from "../../server/application/audit-export.ts";
import { sealAudit, tamper, verifyLogs } from "../audit.ts";
import { makeAuthority, signCertificate } from "../certificates.ts";
import { freshDatabase } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";
import { openInstallation } from "./installation.ts";
import { gantryFile, start, stopAll } from "./processes.ts";
import { openSink, type Sink } from "./sink.ts";
import { openSyslogReceiver, type SyslogReceiver } from "./syslog-receiver.ts";

const folder = mkdtempSync(join(tmpdir(), "gantry-audit-targets-"));
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await stopAll();
  for (const close of closing.splice(0).reverse()) await close();
});
after(() => rm(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, `${name}-${randomBytes(4).toString("hex")}`);

const targetsFile = async (targets: readonly JsonObject[]): Promise<string> => {
  const file = path("targets");
  await writeFile(file, JSON.stringify({ targets }));
  return file;
};

interface Opened {
  readonly world: World;
  readonly lines: string[];
}

const open = async (targets: readonly JsonObject[], environment: Readonly<Record<string, string>> = {}): Promise<Opened> => {
  const lines: string[] = [];
  const world = await openWorld(
    { GANTRY_AUDIT_TARGETS: await targetsFile(targets), ...environment },
    (event, facts) => void lines.push(`${event} ${JSON.stringify(facts)}`),
  );
  closing.push(() => world.close());
  return { world, lines };
};

const sink = async (): Promise<Sink> => {
  const opened = await openSink();
  closing.push(() => opened.close());
  return opened;
};

const receiver = async (tls?: Parameters<typeof openSyslogReceiver>[0]): Promise<SyslogReceiver> => {
  const opened = await openSyslogReceiver(tls);
  closing.push(() => opened.close());
  return opened;
};

const change = async (world: World, name = "changed", parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const changes = async (world: World, count: number): Promise<void> => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another organization" } });
  for (let made = 0; made < count; made++) {
    await change(world, "changed", made % 2 ? world.organization : String(uid));
    if (made % 3 === 0) await sealAudit(world);
  }
  await sealAudit(world);
};

const send = async (world: World): Promise<void> => {
  await sealAudit(world);
  await world.server.auditTargets.send();
};

const linesOf = async (file: string): Promise<string[]> => (await readFile(file, "utf8")).split("\n").slice(0, -1);

const chainEnds = async (world: World): Promise<Map<string, number>> =>
  new Map((await tamper(world, "select left(uid, 40), max(sequence) from audit_entries group by 1")).map(([root, sequence]) => [root ?? "", Number(sequence)]));

/** Asserts that the lines are all entries of all organizations from the first on; returns the number of duplicates. */
const areWhole = async (world: World, lines: readonly string[], otherLines = 0): Promise<number> => {
  const found = await verifyRecords(
    (async function* () {
      yield* lines;
    })(),
  );
  assert.equal(found.otherLines, otherLines);
  for (const { root, problems, first } of found.verdicts) assert.deepEqual([root, first, problems], [root, 1, []]);
  assert.deepEqual(new Map(found.verdicts.map(({ root, last }) => [root, last.sequence])), await chainEnds(world));
  const held = await tamper(world, "select uid, request_id, operation, subject, hash from audit_entries order by uid");
  const told = new Map(
    lines.flatMap((line) => {
      const value = line.startsWith("{") && line.endsWith("}") ? (JSON.parse(line) as Record<string, string>) : undefined;
      return value ? [[value.uid, [value.uid, value.requestId, value.operation, value.subject, value.hash]] as const] : [];
    }),
  );
  assert.deepEqual(
    [...told.values()].sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
    held,
  );
  return found.verdicts.reduce((sum, { repeated }) => sum + repeated, 0);
};

const bodiesOf = ({ got }: Sink): string[] => got.flatMap(({ body }) => body.split("\n").slice(0, -1));

// ---- files ------------------------------------------------------------------------------------------------------

test("a file gets each entry once, is readable by its owner only, and is not followed when renamed", async () => {
  const file = path("audit.jsonl");
  const { world } = await open([{ name: "archive", file }]);
  await changes(world, 8);
  await send(world);
  assert.equal(await areWhole(world, await linesOf(file)), 0);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await rename(file, `${file}.1`);
  const before = await linesOf(`${file}.1`);
  await changes(world, 4);
  await send(world);
  await send(world);
  assert.deepEqual(await linesOf(`${file}.1`), before);
  assert.equal(await areWhole(world, [...before, ...(await linesOf(file))]), 0);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

test("a partial line from a crashed server is terminated and sent again whole", async () => {
  const file = path("audit.jsonl");
  const { world } = await open([{ name: "archive", file }]);
  await changes(world, 4);
  await send(world);
  await appendFile(file, '{"organization":"half a li');
  await changes(world, 4);
  await send(world);
  await areWhole(world, await linesOf(file), 1);
});

test("a missing directory is logged and retried with increasing delays, and then gets all entries", async () => {
  const file = join(path("folder"), "audit.jsonl");
  const { world, lines } = await open([{ name: "archive", file }]);
  await changes(world, 4);
  for (let round = 0; round < 10; round++) {
    world.clock.now += 1000;
    await send(world);
  }
  assert.equal(lines.filter((line) => line.startsWith("audit.target.failed")).length, 4, "after 1, 2, 4 and 8 seconds");
  assert.match(lines.find((line) => line.startsWith("audit.target.failed")) ?? "", /"target":"archive","failures":1,.*ENOENT|"target":"archive","failures":1/);
  await (await import("node:fs/promises")).mkdir(join(file, ".."));
  world.clock.now += limits.auditTargetPauseMaxMs;
  await send(world);
  assert.equal(await areWhole(world, await linesOf(file)), 0);
  assert.equal(lines.filter((line) => line.startsWith('audit.target.resumed {"target":"archive","failures":4')).length, 1, lines.join("\n"));
});

// ---- syslog -----------------------------------------------------------------------------------------------------

const rfc5424 = /^<110>1 \d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z 127\.0\.0\.1 gantry - audit - (\{[\x20-\x7e]*\})$/;

const jsonOf = (messages: readonly string[]): string[] =>
  messages.map((message) => {
    const [, json = ""] = rfc5424.exec(message) ?? [];
    assert.notEqual(json, "", message);
    return json;
  });

test("a syslog receiver gets each entry as an RFC 5424 message with octet counting, over TCP and TLS", async () => {
  const authority = makeAuthority(folder, `authority-${randomBytes(4).toString("hex")}`);
  const certificate = signCertificate(folder, "syslog", authority, "DNS:localhost,IP:127.0.0.1");
  const plain = await receiver();
  const secure = await receiver({ cert: readFileSync(certificate.certificateFile), key: readFileSync(certificate.keyFile) });
  const { world, lines } = await open(
    [
      { name: "plain", syslog: `tcp://127.0.0.1:${plain.port}` },
      { name: "secure", syslog: `tls://127.0.0.1:${secure.port}` },
    ],
    { GANTRY_CA_FILE: authority.certificateFile },
  );
  await changes(world, 8);
  await send(world);
  assert.deepEqual(
    lines.filter((line) => line.startsWith("audit.target")),
    [],
  );
  assert.equal(await areWhole(world, jsonOf(plain.messages)), 0);
  assert.equal(await areWhole(world, jsonOf(secure.messages)), 0);
});

test("a receiver that requires a client certificate gets the target's; without a valid one nothing arrives and the log says why", async () => {
  const authority = makeAuthority(folder, `authority-${randomBytes(4).toString("hex")}`);
  const { certificateFile, keyFile } = signCertificate(folder, "asking", authority, "DNS:localhost,IP:127.0.0.1");
  const [cert, key, ca] = [certificateFile, keyFile, authority.certificateFile].map((file) => readFileSync(file));
  assert.ok(cert && key && ca);
  const asking = await receiver({ cert, key, ca, requestCert: true });
  // Node's server verifies certificates after the handshake; others, such as OpenSSL, refuse during it.
  const port = await freePort();
  const options = ["-accept", `127.0.0.1:${port}`, "-cert", certificateFile, "-key", keyFile, "-CAfile", authority.certificateFile];
  const strict = spawn("openssl", ["s_server", ...options, "-Verify", "1", "-verify_return_error"]);
  closing.push(async () => void strict.kill());
  for await (const said of strict.stdout) if (String(said).includes("ACCEPT")) break;
  const own = { certificateFile: join(folder, "own.pem"), keyFile: join(folder, "own.key") };
  const show = (shown: typeof own): void => {
    writeFileSync(own.certificateFile, readFileSync(shown.certificateFile));
    writeFileSync(own.keyFile, readFileSync(shown.keyFile));
  };
  const stranger = makeAuthority(folder, `stranger-${randomBytes(4).toString("hex")}`);
  show(signCertificate(folder, "of-a-stranger", stranger, "DNS:gantry"));
  const { world, lines } = await open(
    [
      { name: "bare", syslog: `tls://127.0.0.1:${asking.port}` },
      { name: "strict", syslog: `tls://127.0.0.1:${port}`, ...own },
    ],
    { GANTRY_CA_FILE: authority.certificateFile },
  );
  await changes(world, 3);
  await send(world);
  for (const name of ["bare", "strict"]) assert.match(lines.find((line) => line.includes(`"target":"${name}"`)) ?? "", /^audit\.target\.failed .*alert/, name);
  assert.deepEqual(asking.messages, []);

  const next = await open([{ name: "shown", syslog: `tls://127.0.0.1:${asking.port}`, ...own }], { GANTRY_CA_FILE: authority.certificateFile });
  show(signCertificate(folder, "own-client", authority, "DNS:gantry"));
  await changes(next.world, 3);
  await send(next.world);
  assert.equal(await areWhole(next.world, jsonOf(asking.messages)), 0);
  assert.ok(asking.messages.length > 3);
  writeFileSync(own.keyFile, "");
  await changes(next.world, 1);
  await send(next.world);
  assert.match(next.lines.find((line) => line.includes('"target":"shown"')) ?? "", /^audit\.target\.failed /);
});

test("a receiver that resets the connection gets the whole batch again", async () => {
  const plain = await receiver();
  const { world, lines } = await open([{ name: "plain", syslog: `tcp://127.0.0.1:${plain.port}` }]);
  await changes(world, 8);
  plain.take = (socket) => {
    socket.resetAndDestroy();
    return false;
  };
  for (let round = 0; round < 2; round++) {
    await send(world);
    world.clock.now += limits.auditTargetPauseMaxMs;
  }
  assert.equal(lines.filter((line) => line.startsWith("audit.target.failed")).length, 2);
  assert.deepEqual(await tamper(world, "select sent from audit_targets"), [["0"]]);
  plain.take = () => true;
  for (let round = 0; round < 3; round++) await send(world);
  assert.equal(await areWhole(world, jsonOf(plain.messages)), 0);
});

test("a batch counts only after the receiver has read it all and closed its side", async (t) => {
  const plain = await receiver();
  const outbound = openOutbound({ allow: "audit=127.0.0.0/8" });
  t.after(() => outbound.close());
  const target = { host: "127.0.0.1", port: plain.port, secure: false };
  const sendIt = sendToSyslog(outbound, target, "https://gantry.example.test");
  const large = Array.from({ length: 64 }, () => JSON.stringify({ createTime: "2026-11-23T00:00:00.000Z", subject: "x".repeat(256 * 1024) }));
  plain.take = (socket) => {
    socket.destroy();
    return false;
  };
  await assert.rejects(sendIt(large, new AbortController().signal), /ECONNRESET|EPIPE|closed the connection|connection was lost/);
  plain.take = (socket) => {
    socket.pause();
    return false;
  };
  await assert.rejects(sendIt(large, AbortSignal.timeout(200)), /took too long/);
  const other = await receiver();
  await sendToSyslog(outbound, { ...target, port: other.port }, "https://gantry.example.test")(large, new AbortController().signal);
  assert.equal(other.messages.length, large.length);
  const silent = createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const open = sendToSyslog(outbound, { ...target, port: (silent.address() as AddressInfo).port }, "https://gantry.example.test");
  await assert.rejects(open(["{}"], AbortSignal.timeout(200)), /did not close its side/);
});

// ---- HTTP -------------------------------------------------------------------------------------------------------

test("an HTTP endpoint gets each entry as lines or an array, with the current authorization from its file", async () => {
  const [lake, list] = [await sink(), await sink()];
  const authorizationFile = path("authorization");
  await writeFile(authorizationFile, "Bearer first\n");
  const { world } = await open([
    { name: "lake", http: lake.url, authorizationFile },
    { name: "list", http: list.url, body: "array" },
  ]);
  await changes(world, 4);
  await send(world);
  await writeFile(authorizationFile, "Bearer second\n");
  await changes(world, 4);
  await send(world);
  assert.equal(await areWhole(world, bodiesOf(lake)), 0);
  const arrays = list.got.map(({ body }) => JSON.parse(body) as object[]);
  assert.equal(
    await areWhole(
      world,
      arrays.flat().map((entry) => JSON.stringify(entry)),
    ),
    0,
  );
  assert.deepEqual(
    [...new Set(lake.got.map(({ headers }) => `${headers["content-type"]} ${headers.authorization}`))],
    ["application/x-ndjson Bearer first", "application/x-ndjson Bearer second"],
  );
  assert.deepEqual([...new Set(list.got.map(({ headers }) => `${headers["content-type"]} ${headers.authorization}`))], ["application/json undefined"]);
});

test("an endpoint that refuses a batch gets smaller ones, and delays neither other targets nor changes", async () => {
  const lake = await sink();
  const file = path("audit.jsonl");
  const { world, lines } = await open([
    { name: "archive", file },
    { name: "lake", http: lake.url },
  ]);
  const most = 5;
  lake.answer = ({ body }) => ({ status: body.split("\n").length - 1 > most ? 413 : 204 });
  await changes(world, 30);
  for (let round = 0; round < 16; round++) {
    world.clock.now += limits.auditTargetPauseMaxMs;
    await send(world);
    await change(world);
  }
  await send(world);
  assert.equal(await areWhole(world, await linesOf(file)), 0);
  assert.ok(lines.some((line) => line.startsWith('audit.target.failed {"target":"lake","failures":1')));
  const taken = lake.got.filter(({ body }) => body.split("\n").length - 1 <= most).flatMap(({ body }) => body.split("\n").slice(0, -1));
  const found = await verifyRecords(
    (async function* () {
      yield* taken;
    })(),
  );
  assert.ok(taken.length >= 30);
  assert.deepEqual(
    found.verdicts.flatMap(({ problems }) => problems),
    [],
  );
});

test("after a lost response only that batch is sent again", async () => {
  const lake = await sink();
  const { world } = await open([{ name: "lake", http: lake.url }]);
  await changes(world, 6);
  await send(world);
  const before = bodiesOf(lake).length;
  await changes(world, 6);
  let asked = 0;
  lake.answer = () => ({ status: asked++ === 0 ? 500 : 200 });
  await send(world);
  world.clock.now += limits.auditTargetPauseMaxMs;
  await send(world);
  const repeated = await areWhole(world, bodiesOf(lake));
  assert.equal(repeated, bodiesOf(lake).length - before - (bodiesOf(lake).length - before) / 2);
});

// ---- servers ----------------------------------------------------------------------------------------------------

test("one server at a time sends to a target, and another continues from its position", async () => {
  const database = await freshDatabase();
  const place = await mkdtemp(join(tmpdir(), "gantry-audit-two-"));
  const key = join(place, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  closing.push(
    () => database.drop(),
    () => rm(place, { recursive: true, force: true }),
  );
  const lake = await sink();
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_PUBLIC_URL: "http://gantry.example.test" };
  const { world: first } = await open([{ name: "lake", http: lake.url }], shared);
  const { world: second } = await open([{ name: "lake", http: lake.url }], shared);
  for (let round = 0; round < 6; round++) {
    await changes(first, 4);
    await Promise.all([send(first), send(second)]);
  }
  // A server keeps the lease while it has entries to send.
  await send(second);
  assert.equal(await areWhole(first, bodiesOf(lake)), 0);
  await tamper(first, "update audit_targets set lease_holder = 'dead', lease_until = $1", [
    new Date(first.clock.now + limits.auditTargetLeaseMs).toISOString(),
  ]);
  await changes(first, 4);
  const before = lake.got.length;
  await send(second);
  assert.equal(lake.got.length, before);
  second.clock.now += limits.auditTargetLeaseMs;
  await send(second);
  assert.equal(await areWhole(first, bodiesOf(lake)), 0);
});

test("a killed server loses nothing, and only unconfirmed entries are sent again", async () => {
  const lake = await sink();
  const plain = await receiver();
  const file = path("audit.jsonl");
  const targets = await targetsFile([
    { name: "archive", file },
    { name: "lake", http: lake.url },
    { name: "plain", syslog: `tcp://127.0.0.1:${plain.port}` },
  ]);
  const installation = await openInstallation();
  closing.push(() => installation.close());
  const { world } = installation;
  for (let turn = 0; turn < shortOrLong(1, 4); turn++) {
    const port = await freePort();
    const env = { ...installation.environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_AUDIT_TARGETS: targets, GANTRY_EGRESS_ALLOW: "audit=127.0.0.0/8" };
    const server = start(gantryFile, ["serve"], { env });
    await server.says(/Gantry serves/);
    const before = lake.got.length;
    let over = false;
    const writing = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!over) await change(world);
      }),
    );
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    lake.answer = () => {
      if (lake.got.length >= before + 2) {
        server.signal("SIGKILL");
        resolve();
      }
      return { status: 200 };
    };
    await reached;
    await server.ended;
    over = true;
    await writing;
    await tamper(world, "update audit_targets set lease_until = null");
  }
  lake.answer = () => ({ status: 200 });
  await sealAudit(world);
  const port = await freePort();
  const env = { ...installation.environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_AUDIT_TARGETS: targets, GANTRY_EGRESS_ALLOW: "audit=127.0.0.0/8" };
  const server = start(gantryFile, ["serve"], { env });
  await server.says(/Gantry serves/);
  await sealAudit(world);
  const [[entries] = []] = await tamper(world, "select count(*) from audit_entries");
  while ((await tamper(world, "select 1 from audit_targets where sent < $1", [Number(entries)])).length > 0) await new Promise(setImmediate);
  server.signal("SIGTERM");
  await server.ended;
  const inFile = await linesOf(file);
  const torn = inFile.filter((line) => !line.endsWith("}")).length;
  await areWhole(world, inFile, torn);
  await areWhole(world, bodiesOf(lake));
  await areWhole(world, jsonOf(plain.messages));
  assert.ok(torn <= shortOrLong(1, 4));
});

// ---- reports -----------------------------------------------------------------------------------------------------

test("doctor and metrics report each target's backlog and its cause", async () => {
  const lake = await sink();
  const file = path("audit.jsonl");
  const targets = await targetsFile([
    { name: "archive", file },
    { name: "lake", http: lake.url },
  ]);
  const installation = await openInstallation({ GANTRY_AUDIT_TARGETS: targets, GANTRY_METRICS_LISTEN: `127.0.0.1:${await freePort()}` });
  closing.push(() => installation.close());
  const { world, environment } = installation;
  const doctor = async (): Promise<string[]> => {
    const { stdout } = await start(gantryFile, ["doctor"], { env: environment }).ended;
    return stdout.split("\n").filter((line) => / audit /.test(line));
  };
  const metric = async (name: string): Promise<string[]> => {
    const answer = await fetch(`http://${environment.GANTRY_METRICS_LISTEN}/metrics`);
    return (await answer.text()).split("\n").filter((line) => line.startsWith(`${name}{`));
  };
  await changes(world, 4);
  lake.answer = () => ({ status: 503 });
  await send(world);
  const [first, second] = await doctor();
  assert.match(first ?? "", /^ok +audit +archive: \d+ entries arrived$/);
  assert.match(second ?? "", /^WRONG +audit +lake: has failed 1 times since .*: it answered 503$/);
  world.clock.now += 2 * limits.auditBehindMs;
  assert.match((await metric("gantry_audit_target_behind_seconds")).join(), /\{target="archive"\} 0,.*\{target="lake"\} 7\d{3}/);
  assert.match((await metric("gantry_audit_target_failures_total")).join(), /\{target="lake"\} 1/);
  lake.answer = () => ({ status: 200 });
  await send(world);
  assert.match((await metric("gantry_retention_oldest_seconds")).join(), /table="outbox"/);
  assert.match((await doctor()).join(), /lake: \d+ entries arrived$/);
});

// ---- export ------------------------------------------------------------------------------------------------------

test("an export by organization, number and time equals the log and verifies alone and against the log", async () => {
  const installation = await openInstallation();
  closing.push(() => installation.close());
  const { world, environment } = installation;
  const run = (...args: string[]) => start(gantryFile, args, { env: environment }).ended;
  await changes(world, 6);
  world.clock.now += 60_000;
  const since = new Date(world.clock.now).toISOString();
  const made = await change(world);
  await sealAudit(world);
  const file = path("export.jsonl");
  const exported = await run("audit", "export", "--file", file);
  assert.equal(exported.code, 0, exported.stderr);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await areWhole(world, await linesOf(file));
  assert.equal((await run("audit", "export", "--file", file)).code, 1, "a file that is there is nobody's to write over");

  const root = world.organization;
  const written = async (asked: Partial<AuditExport>): Promise<string[]> => {
    const lines: string[] = [];
    const write = async (line: string): Promise<void> => void lines.push(line);
    const all = { after: 0, upTo: undefined, sinceMs: undefined, untilMs: undefined };
    assert.equal(await exportAudit(world.server.application, { ...all, group: root, ...asked, write, progress: () => {} }), lines.length);
    return lines;
  };
  const ofRoot = (await linesOf(file)).filter((line) => line.includes(`"organization":"${root}"`));
  assert.deepEqual(await written({}), ofRoot);
  assert.deepEqual(await written({ after: 2, upTo: 4 }), ofRoot.slice(2, 4));
  const late = await written({ sinceMs: Date.parse(since) });
  assert.ok(late.some((line) => line.includes(made)));
  assert.deepEqual([...(await written({ untilMs: Date.parse(since) })), ...late], ofRoot);

  const known = path("known.jsonl");
  const { lines: ends } = await verifyLogs(world, { json: true });
  await writeFile(known, ends.join("\n"));
  const verify = async (lines: readonly string[]): Promise<{ readonly whole: boolean; readonly told: string }> => {
    const other = path("lines.jsonl");
    await writeFile(other, `${lines.join("\n")}\n`);
    const told: string[] = [];
    const whole = await reportAuditFile({ file: other, known, json: false, write: (line) => void told.push(line) });
    return { whole, told: told.find((line) => line.includes("NOT INTACT")) ?? "" };
  };
  assert.deepEqual(await verify(await linesOf(file)), { whole: true, told: "" });
  const tried = async (change: (lines: string[]) => string[]): Promise<string> => {
    const { whole, told } = await verify(change(await linesOf(file)));
    assert.equal(whole, false);
    return told;
  };
  const at = (await linesOf(file)).findIndex((line) => line.includes(`"organization":"${root}"`)) + 1;
  assert.match(await tried((lines) => lines.with(at, (lines[at] ?? "").replace('"code":"OK"', '"code":"NO"'))), /entry 2 has been changed/);
  assert.match(await tried((lines) => lines.toSpliced(at, 1)), /entry 2 is missing/);
  assert.match(await tried((lines) => lines.filter((line) => line !== ofRoot.at(-1))), /it ends at entry \d+, and entry \d+ was known before/);
  assert.match(await tried((lines) => lines.filter((line) => !ofRoot.includes(line))), /all its entries are missing/);
  // A recomputed chain has valid hashes but a different end.
  assert.match(
    await tried((lines) => {
      const last = JSON.parse(ofRoot.at(-1) ?? "{}") as AuditRecord;
      const forged = { ...last, code: "PERMISSION_DENIED" };
      return lines.map((line) => (line === ofRoot.at(-1) ? JSON.stringify({ ...forged, hash: hashEntry(last.previousHash, forged) }) : line));
    }),
    /is not the one that was known before/,
  );
  const wrong = await run("audit", "export", "--after", "2");
  assert.match(wrong.stderr, /--after and --up-to require --group/);
});

// ---- settings ---------------------------------------------------------------------------------------------------

test("an invalid file of targets is refused with one line that says why", () => {
  const refused = (targets: unknown): string => {
    try {
      readTargets(typeof targets === "string" ? targets : JSON.stringify({ targets }));
    } catch (thrown) {
      return thrown instanceof Error ? thrown.message : "";
    }
    return "";
  };
  assert.match(refused("{"), /^GANTRY_AUDIT_TARGETS must contain JSON: /);
  assert.match(refused("[]"), /must be an object with a list "targets"/);
  assert.match(refused([{ file: "/a" }]), /each with a "name"/);
  assert.match(refused([{ name: "a" }]), /must have one of file, syslog and http in target a/);
  assert.match(refused([{ name: "a", file: "/a", http: "https://a.example" }]), /one of file, syslog and http/);
  assert.match(refused([{ name: "a", file: "a.jsonl" }]), /an absolute path in "file" of target a, not "a\.jsonl"/);
  assert.match(refused([{ name: "a", file: "/a", mode: "0644" }]), /has the unknown key "mode" in target a; must be one of name, file/);
  for (const syslog of ["udp://a:514", "tls://a", "tls://a:0", "tls://a:70000", "tls://a:514/x", 514])
    assert.match(refused([{ name: "a", syslog }]), /tls:\/\/HOST:PORT or tcp:\/\/HOST:PORT in "syslog" of target a, not /, String(syslog));
  assert.match(refused([{ name: "a", syslog: "tls://u@a:514" }]), /in "syslog" of target a$/, "what may be a secret is not shown");
  const shown = { certificateFile: "/a.pem", keyFile: "/a.key" };
  assert.match(refused([{ name: "a", syslog: "tcp://a:514", ...shown }]), /must have both "certificateFile" and "keyFile" in target a, and only with tls:/);
  assert.match(
    refused([{ name: "a", syslog: "tls://a:6514", keyFile: "/a.key" }]),
    /must have both "certificateFile" and "keyFile" in target a, and only with tls:/,
  );
  assert.match(refused([{ name: "a", syslog: "tls://a:6514", ...shown, keyFile: "a.key" }]), /an absolute path/);
  assert.equal(refused([{ name: "a", syslog: "tls://a:6514", ...shown }]), "");
  for (const http of ["ftp://a", "https://u:p@a/", "https://a/#b", "a"]) assert.match(refused([{ name: "a", http }]), /an http or https URL/, http);
  assert.match(refused([{ name: "a", http: "https://a/", body: "csv" }]), /lines or array in "body" of target a, not "csv"/);
  assert.match(
    refused([
      { name: "a", file: "/a" },
      { name: "a", file: "/b" },
    ]),
    /names the target a twice/,
  );
  assert.match(
    refused([
      { name: "a", file: "/a" },
      { name: "b", file: "/a" },
    ]),
    /writes two targets into one file/,
  );
  assert.equal(refused([{ name: "a", syslog: "tls://[::1]:6514" }]), "");
});
