// `gantry events tail` against a running server: it prints events as they happen and is also usable by other programs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

let installation: Installation;
let timer: NodeJS.Timeout;
let delivering: Promise<void> | undefined;

before(async () => {
  installation = await openInstallation();
  // The server's background work, unless a test runs it itself.
  timer = setInterval(() => {
    delivering ??= installation.world.server.delivery.finish().finally(() => {
      delivering = undefined;
    });
  }, 100);
});
after(async () => {
  await stopAll();
  clearInterval(timer);
  await delivering;
  await installation.close();
});

const tail = (...args: string[]): Program => start(gantryFile, ["events", "tail", ...args], { env: { ...installation.environment } });
const folder = async (name: string): Promise<string> =>
  text(await installation.world.ok("iam.GroupsService/CreateGroup", { parent: installation.world.organization, group: { name } }), "uid");
const repo = async (parent: string, name: string): Promise<string> =>
  text(await installation.world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");

test("past events are printed first, then each new one with time, type, subject and actor, until Ctrl-C", async () => {
  const group = await folder("shown");
  const before = await repo(group, "before");
  await installation.world.server.delivery.finish();
  const program = tail("--past", "5");
  await program.says(new RegExp(`registry\\.repo\\.created +before \\(${before}\\)`));
  const later = await repo(group, "later");
  const [line] = await program.says(new RegExp(`^.*${later}.*$`, "m"));
  assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}registry\.repo\.created +later \([0-9a-f/]+\) {2}by operator \([0-9a-f]{40}\)$/);
  await installation.world.ok("registry.ReposService/DeleteRepo", { uid: later });
  // The body of a deletion has no name.
  await program.says(new RegExp(`registry\\.repo\\.deleted +${later}`));
  program.signal("SIGINT");
  const { code, stderr, stdout } = await program.ended;
  assert.deepEqual([code, stderr], [0, ""]);
  const lines = stdout.trim().split("\n");
  assert.deepEqual(
    lines.map((each) => each.slice(0, 24)),
    [...lines].map((each) => each.slice(0, 24)).sort(),
    "in order",
  );
});

test("--json prints whole events of the given group and types only, one per line", async () => {
  const [group, beside] = [await folder("wanted"), await folder("beside")];
  await installation.world.server.delivery.finish();
  const past = await repo(group, "past");
  await repo(beside, "unwanted");
  await installation.world.server.delivery.finish();
  const program = tail("--json", "--past", "1", "--group", "first-organization/wanted", "--type", "dev.chainguard.api.platform.registry.repo.created.v1");
  await program.says(new RegExp(past));
  await repo(beside, "unwanted-too");
  const next = await repo(group, "next");
  await program.says(new RegExp(`${next}.*\\n`));
  program.signal("SIGTERM");
  const { code, stdout } = await program.ended;
  assert.equal(code, 0);
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  assert.deepEqual(
    events.map(({ subject }) => subject),
    [past, next],
  );
  for (const event of events) {
    assert.ok(text(event, "uid").startsWith(`${group}/`));
    assert.equal(event.type, "dev.chainguard.api.platform.registry.repo.created.v1");
    assert.equal(text((JSON.parse(text(event, "data")) as { body: JsonObject }).body, "uid"), event.subject);
  }
});

test("an invalid group, number or argument ends the command with one line", async () => {
  for (const [args, status] of [
    [["tail", "--group", "nonsense"], 1],
    [["tail", "--past=-1"], 1],
    [["watch"], 64],
  ] as const) {
    const { code, stdout, stderr } = await gantry(["events", ...args], { env: { ...installation.environment } });
    assert.deepEqual([code, stdout], [status, ""], args.join(" "));
    assert.match(stderr, /^gantry: [^\n]+\n$/, args.join(" "));
  }
});
