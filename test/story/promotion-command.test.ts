// `gantry registry promote` and `gantry registry immutable-tag-rules`, with the printed output of docs/how-to/immutable-tags.md.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
import { openOwners } from "../owner.ts";
import { openPusher, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder = "";
let token = "";
let source: Pusher | undefined;

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-promote-"));
  const organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  token = await openOwners(world).token(organization);
  source = openPusher(world, "acme/app", token);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]) =>
  runGantry(args, { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: folder, HOME: folder } });

test("gantry registry promote copies an image, rehearses with --dry-run, and keeps to --if-match and to immutable tags", async () => {
  const pusher = source ?? assert.fail("not begun");
  const { digest } = await pusher.image("amd64", "rc1");
  const other = await pusher.image("arm64", "rc2");
  const to = ["--to", "acme/prod/app:v1.0"];
  const rehearsed = await run("registry", "promote", "acme/app:rc1", ...to, "--dry-run");
  assert.deepEqual(rehearsed, { status: 0, out: `Would promote acme/prod/app:v1.0 (${digest}): 1 new manifest.\n`, err: "" });
  const first = await run("registry", "promote", "acme/app:rc1", ...to);
  assert.deepEqual(first, { status: 0, out: `Promoted acme/prod/app:v1.0 (${digest}): 1 new manifest.\n`, err: "" });
  const again = await run("registry", "promote", `acme/app@${digest}`, ...to, "--json");
  assert.deepEqual([again.status, text(JSON.parse(again.out), "tag")], [0, "v1.0"]);
  const stale = await run("registry", "promote", "acme/app:rc2", ...to, "--if-match", other.digest);
  assert.notEqual(stale.status, 0);
  assert.match(stale.err, /the condition of the request does not hold/);
  const moved = await run("registry", "promote", "acme/app:rc2", ...to, "--if-match", digest);
  assert.equal(moved.out, `Promoted acme/prod/app:v1.0 (${other.digest}): 1 new manifest.\nThe tag pointed to ${digest} before.\n`);
  const rule = await run("registry", "immutable-tag-rules", "create", "--parent", "acme/prod", "--pattern", "v[0-9]+[.].*");
  assert.equal(rule.status, 0, rule.err);
  const refused = await run("registry", "promote", "acme/app:rc1", ...to);
  assert.match(refused.err, /cannot move the tag: the tag "v1\.0" is immutable by the rule "v\[0-9\]\+\[\.\]\.\*" of /);
  for (const [args, message] of [
    [["acme/app", "--to", "acme/x:1"], /SOURCE must be REPO:TAG or REPO@DIGEST, not "acme\/app"/],
    [["acme/app:rc1"], /--to must be REPO:TAG/],
    [["acme/app:rc1", "--to", `acme/x@${digest}`], /--to must be REPO:TAG/],
    [["acme/absent:rc1", "--to", "acme/x:1"], /Repo "acme\/absent" not found/],
  ] as const) {
    const { status, err } = await run("registry", "promote", ...args);
    assert.notEqual(status, 0);
    assert.match(err, message);
  }
});
