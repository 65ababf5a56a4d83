// Attacks on audit log export: forged lines, targets that block the server, and destinations that the operator did not set.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readSettings } from "#application";
import { verifyRecords } from "#audit/log";
import { readTargets } from "#audit/targets";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { sealAudit, tamper } from "../audit.ts";
import { runGantry } from "../command-line.ts";
import { openSink, type Sink } from "../story/sink.ts";
import { openSyslogReceiver } from "../story/syslog-receiver.ts";
import { openWorld, type World } from "../world.ts";

const folder = mkdtempSync(join(tmpdir(), "gantry-audit-attacks-"));
after(() => rm(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, `${name}-${randomBytes(4).toString("hex")}`);

const openWith = async (targets: readonly JsonObject[], environment: Readonly<Record<string, string>> = {}): Promise<{ world: World; lines: string[] }> => {
  const file = path("targets");
  await writeFile(file, JSON.stringify({ targets }));
  const lines: string[] = [];
  const world = await openWorld({ GANTRY_AUDIT_TARGETS: file, ...environment }, (event, facts) => void lines.push(`${event} ${JSON.stringify(facts)}`));
  return { world, lines };
};

const change = (world: World): Promise<JsonObject> => world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "changed" } });

/** Inserts an event with these texts as if they had passed every check. */
const plantEvent = (world: World, subject: string, userAgent: string, resources: readonly string[] = []): Promise<unknown> =>
  tamper(
    world,
    `insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
     values (gen_random_uuid(), 'planted', '', $1, $2, 'internal', '{}', '', '{}', '', now(), $3)`,
    [subject, world.organization, JSON.stringify({ userAgent, resources })],
  );

const taken = ({ got }: Sink): string[] => got.flatMap(({ body }) => body.split("\n").slice(0, -1));

test("attack 190: an exported entry is one ASCII line and one message, whatever its texts contain", async (t) => {
  const lake = await openSink();
  const syslog = await openSyslogReceiver();
  const file = path("audit.jsonl");
  const { world } = await openWith([
    { name: "archive", file },
    { name: "lake", http: lake.url },
    { name: "siem", syslog: `tcp://127.0.0.1:${syslog.port}` },
  ]);
  t.after(async () => {
    await world.close();
    await syslog.close();
    await lake.close();
  });
  const forged = '<110>1 2026-11-23T00:00:00.000Z gantry gantry - audit - {"code":"OK"}';
  const texts = [
    `a\n${forged}`,
    `a\r\n${forged}`,
    `a\u2028${forged}\u2029`,
    `a\u0085${forged}`,
    `"}\n{"organization":"${world.organization}"`,
    "\u001b[2K\u001b]0;title\u0007",
    "\u202eevil\u2066",
    "\u007f\u009b31m\ufeff",
    "ä€😀",
    `12 ${forged}`,
  ];
  for (const each of texts) await plantEvent(world, each, each);
  await sealAudit(world);
  await world.server.auditTargets.send();
  const held = (await tamper(world, "select subject, user_agent from audit_entries where type = 'planted' order by sequence")).flat();
  assert.deepEqual(
    held,
    texts.flatMap((each) => [each, each]),
  );
  const [[count] = []] = await tamper(world, "select count(*) from audit_entries");
  const json = syslog.messages.map((message) => /^<110>1 \S+ \S+ gantry - audit - (\{.*\})$/s.exec(message)?.[1] ?? "");
  const content = await readFile(file, "utf8");
  for (const [place, found] of [
    ["file", content.split("\n").slice(0, -1)],
    ["http", taken(lake)],
    ["syslog", json],
  ] as const) {
    assert.equal(found.length, Number(count), place);
    for (const line of found) assert.match(line, /^\{[\x20-\x7e]*\}$/, place);
    const planted = found.map((line) => JSON.parse(line) as { type: string; subject: string; userAgent: string }).filter(({ type }) => type === "planted");
    assert.deepEqual(
      planted.flatMap(({ subject, userAgent }) => [subject, userAgent]),
      held,
      place,
    );
    const { verdicts } = await verifyRecords(
      (async function* () {
        yield* found;
      })(),
    );
    assert.deepEqual(
      verdicts.flatMap(({ problems }) => problems),
      [],
    );
  }
});

test("attack 191: a target that accepts data but never responds blocks no request and no other target, and is reported", async () => {
  const sockets: Socket[] = [];
  let received = 0;
  let isOver = false;
  const silent = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    if (isOver) socket.resetAndDestroy();
    sockets.push(socket);
    socket.on("data", (chunk: Buffer) => (received += chunk.length));
  });
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const file = path("audit.jsonl");
  const { world, lines } = await openWith([
    { name: "archive", file },
    { name: "silent-http", http: `http://127.0.0.1:${port}/` },
    { name: "silent-syslog", syslog: `tcp://127.0.0.1:${port}` },
  ]);
  try {
    // Deletions of many rows: about 5 MB.
    const many = Array.from({ length: 2_000 }, (_, index) => `${world.organization}/${index.toString(16).padStart(16, "0")}`);
    for (let made = 0; made < 40; made++) await plantEvent(world, world.organization, "many", many);
    await sealAudit(world);
    const sending = world.server.auditTargets.send();
    while (sockets.length < 2) await once(silent, "connection");
    const [[entries] = []] = await tamper(world, "select count(*) from audit_entries");
    while ((await tamper(world, "select 1 from audit_targets where name = 'archive' and sent >= $1", [Number(entries)])).length === 0) await change(world);
    // Each target has one batch in flight and no more in memory.
    assert.ok(received < 4 * limits.auditBatchBytes, `${received} bytes`);
    assert.deepEqual(await tamper(world, "select name from audit_targets where sent = 0 order by name"), [["silent-http"], ["silent-syslog"]]);
    isOver = true;
    for (const socket of sockets) socket.resetAndDestroy();
    await sending;
    assert.deepEqual(lines.filter((line) => line.startsWith("audit.target.failed")).length, 2);
    // A target that never fails but never catches up is reported every hour.
    world.clock.now += 2 * limits.auditBehindMs;
    silent.close();
    await world.server.auditTargets.send();
    assert.ok(
      lines.some((line) => line.startsWith('audit.target.behind {"target":"silent-http"')),
      lines.join("\n"),
    );
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
    await world.close();
  }
});

test("attack 193: the log is sent only to the configured address, follows no redirect, and reveals no secret", async () => {
  const [elsewhere, lake] = [await openSink(), await openSink()];
  const authorizationFile = path("authorization");
  await writeFile(authorizationFile, "Bearer very-secret\n");
  const redirected = await openWith([{ name: "lake", http: lake.url, authorizationFile }]);
  try {
    lake.answer = () => ({ status: 307, headers: { location: elsewhere.url } });
    await change(redirected.world);
    await sealAudit(redirected.world);
    await redirected.world.server.auditTargets.send();
    assert.equal(lake.got.length, 1);
    assert.match(redirected.lines.join("\n"), /audit\.target\.failed \{"target":"lake"/);
    assert.deepEqual(await tamper(redirected.world, "select problem from audit_targets"), [["it answered 307"]]);
    // A header value that smuggles in a second header.
    await writeFile(authorizationFile, "Bearer very-secret\r\nX-Other: 1\n");
    redirected.world.clock.now += limits.auditTargetPauseMaxMs;
    await redirected.world.server.auditTargets.send();
    assert.equal(lake.got.length, 1);
    assert.doesNotMatch(`${redirected.lines.join("\n")} ${(await tamper(redirected.world, "select problem from audit_targets")).join()}`, /very-secret/);
  } finally {
    await redirected.world.close();
  }
  const syslog = await openSyslogReceiver();
  const unlisted = await openWith(
    [
      { name: "lake", http: lake.url },
      { name: "siem", syslog: `tls://127.0.0.1:${syslog.port}` },
    ],
    { GANTRY_EGRESS_ALLOW: "sink=127.0.0.0/8,feed=127.0.0.0/8,issuer=127.0.0.0/8,client=127.0.0.0/8" },
  );
  try {
    await change(unlisted.world);
    await sealAudit(unlisted.world);
    await unlisted.world.server.auditTargets.send();
    assert.equal(lake.got.length, 1);
    assert.equal(syslog.connections(), 0);
    for (const [problem = ""] of await tamper(unlisted.world, "select problem from audit_targets"))
      assert.match(problem ?? "", /127\.0\.0\.1 is not a public address/);
  } finally {
    await unlisted.world.close();
    await syslog.close();
    await elsewhere.close();
    await lake.close();
  }
  assert.equal(elsewhere.got.length, 0);
});

test("attack 204: the error for an invalid target address omits its password or token", () => {
  const secret = "very-secret";
  const addresses = [`https://me:${secret}@logs.example.com`, `https://logs.example.com/#${secret}`, `ftp://logs.example.com/?token=${secret}`];
  for (const address of addresses) {
    const refusals = [
      () => readSettings({ GANTRY_PUBLIC_URL: address }),
      () => readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: address }),
      () => readTargets(JSON.stringify({ targets: [{ name: "lake", http: address }] })),
      () => readTargets(JSON.stringify({ targets: [{ name: "siem", syslog: address }] })),
    ];
    for (const refusal of refusals) assert.throws(refusal, ({ message }: Error) => /must/.test(message) && !message.includes(secret), address);
  }
  assert.throws(() => readSettings({ GANTRY_PUBLIC_URL: "gantry.example.com" }), /not "gantry\.example\.com"/);
});

test("attack 241: verification rejects an emptied or replaced copy of the audit log", async () => {
  for (const content of ["", "\n", "# Notes\nof somebody\n", "{}\n"]) {
    const file = path("copy");
    await writeFile(file, content);
    for (const options of [[], ["--json"]]) {
      const { status, out } = await runGantry(["audit", "verify", "--file", file, ...options]);
      assert.equal(status, 1, `${JSON.stringify(content)} ${out}`);
      if (options.length === 0) assert.match(out, /^NOT INTACT: the file has no entries/m);
    }
  }
});
