// The background task that writes the unread images of repos, when it fails for one of them.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import { tamper } from "../audit.ts";
import { openOwners, type Owners } from "../owner.ts";
import { openPusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let owners: Owners;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-unread-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const createRepo = async (name: string): Promise<string> => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  return text(await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } }, { token: await owners.token(group) }), "uid");
};

test("a repo whose unread images cannot be written delays no other organization's repo", async () => {
  const names = ["broken", "one", "other", "third"];
  const repos = await Promise.all(names.map(createRepo));
  const [broken = "", ...rest] = repos;
  await tamper(world, "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$");
  await tamper(world, `create trigger refuse before insert on unread_images for each row when (new.repo_uid = '${broken}') execute function refuse()`);
  // The broken one comes first, so that it is among the repos of every turn.
  for (const [at, name] of names.entries()) await openPusher(world, `${name}/app`, () => owners.token(rootOf(repos[at] ?? ""))).image("amd64", "1.0");
  // A repo is chosen by chance after a failure, so several turns may be needed.
  let written: (string | null | undefined)[] = [];
  for (let turns = 0; turns < 100 && written.length < rest.length; turns++) {
    await world.server.sboms.turn();
    written = (await tamper(world, "select distinct repo_uid from unread_images")).map(([uid]) => uid);
  }
  assert.deepEqual(written.sort(), [...rest].sort());
  assert.deepEqual(await tamper(world, "select distinct repo_uid from unread_images_changes"), [[broken]]);
});
