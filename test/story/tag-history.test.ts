// Tag history: every change of a tag's digest is recorded and listed by the tag's UID.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { importRegistry } from "#advisories/feeds";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let client: RegistryClient;
let folder: string;

before(async () => {
  world = await openWorld();
  client = openRegistry(world.url, `Bearer ${await world.token()}`);
  folder = await mkdtemp(join(tmpdir(), "gantry-tag-history-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;

const newRepo = async (name: string): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } }), "uid");
const point = (repo: string, name: string, digest: string): Promise<JsonObject> =>
  world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name, digest } });
const uidOf = async (repo: string, name: string): Promise<string> => {
  const [found = {}] = objectList(await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, name }), "tags");
  return text(found, "uid");
};
const historyOf = async (uid: string, more: JsonObject = {}, protocol: "rest" | "grpc" = "rest"): Promise<JsonObject[]> =>
  objectList(await world.ok("gantry.registry.v1.TagHistoryService/GetTagHistory", { tagUid: uid, ...more }, { protocol }), "entries");
const digestsOf = async (repo: string, name: string): Promise<string[]> => (await historyOf(await uidOf(repo, name))).map((each) => text(each, "digest"));
const rowsOf = async (repo: string): Promise<number> =>
  Number((await world.server.application.services.store.read.query("select count(*) from tag_history where repo_uid = $1", [repo]))[0]?.[0]);

test("each digest of a tag is listed with its time, latest first, whether moved by request, push or import", async () => {
  // gRPC's JSON omits the fraction of a whole second.
  world.clock.now = Math.ceil(world.clock.now / 1000) * 1000 + 123;
  const repo = await newRepo("moves");
  const first = await point(repo, "latest", digestOf("a"));
  world.clock.now += 60_000;
  // Other changes of a tag with the same digest are not recorded.
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "latest", digest: digestOf("a"), deprecated: true } });
  const pushed = await client.pushImage("first-organization/moves", "latest");
  world.clock.now += 60_000;
  const file = join(folder, "moves.json");
  await writeFile(file, JSON.stringify({ repo: "moves", tags: [{ name: "latest", digest: digestOf("b"), updateTime: timestamp(world.clock.now + 5000) }] }));
  const { refused } = await importRegistry(world.server.application.kernel, { group: world.organization, sources: [file], progress: () => {} });
  assert.deepEqual(refused, []);

  const uid = text(first, "uid");
  const entries = await historyOf(uid);
  assert.deepEqual(
    entries.map((each) => text(each, "digest")),
    [digestOf("b"), pushed, digestOf("a")],
  );
  const now = await world.ok("registry.TagsService/GetTag", { uid });
  assert.deepEqual([entries[0]?.updateTime, entries[0]?.endTime], [now.updateTime, undefined], "what it points at now has no end");
  assert.deepEqual([entries[1]?.endTime, entries[2]?.endTime], [entries[0]?.updateTime, entries[1]?.updateTime], "one ends when the next one begins");
  assert.equal(entries[2]?.updateTime, first.updateTime);
  assert.deepEqual(await historyOf(uid, {}, "grpc"), entries);

  const at = entries[1]?.updateTime ?? "";
  assert.deepEqual(await historyOf(uid, { start: at, end: at }), [entries[1]]);
  assert.deepEqual(await historyOf(uid, { start: at }), entries.slice(0, 2));
  assert.deepEqual(await historyOf(uid, { end: at }), entries.slice(1));
});

test("a tag's history ends when it is deleted in any way, and a new tag of that name shows the earlier digests", async () => {
  const repo = await newRepo("deleted");
  const path = "first-organization/deleted";
  const image = await client.pushImage(path, "v1");
  const ways = [
    async () => void (await world.ok("registry.TagsService/DeleteTag", { uid: await uidOf(repo, "v1") })),
    async () => assert.equal((await client.send("DELETE", `${path}/manifests/v1`)).status, 202),
    async () => assert.equal((await client.send("DELETE", `${path}/manifests/${image}`)).status, 202),
  ];
  for (const [index, remove] of ways.entries()) {
    const uid = await uidOf(repo, "v1");
    await remove();
    const deletedAt = timestamp(world.clock.now);
    assert.equal((await world.call("gantry.registry.v1.TagHistoryService/GetTagHistory", { tagUid: uid })).status, 404);
    world.clock.now += 1000;
    assert.equal(await client.pushImage(path, "v1"), image);
    const entries = await historyOf(await uidOf(repo, "v1"));
    assert.equal(entries.length, index + 2);
    assert.deepEqual([entries[0]?.endTime, entries[1]?.endTime], [undefined, deletedAt]);
  }
});

test("a rolled-back change records nothing, and deleting a repo deletes its history", async () => {
  const repo = await newRepo("gone");
  await point(repo, "v1", digestOf("a"));
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "v1", digest: digestOf("b") } }, { validateOnly: true });
  assert.deepEqual(await digestsOf(repo, "v1"), [digestOf("a")]);
  await point(repo, "v2", digestOf("a"));
  assert.equal(await rowsOf(repo), 2);
  await world.ok("registry.ReposService/DeleteRepo", { uid: repo });
  assert.equal(await rowsOf(repo), 0);
});

test("a name keeps its latest entries, entries that ended long ago are deleted, and the current one is kept at any age", async () => {
  const repo = await newRepo("kept");
  const { store } = world.server.application.services;
  await point(repo, "busy", digestOf("a"));
  await store.write((rows) =>
    rows.query(
      `insert into tag_history (repo_uid, name, digest, start_time, end_time)
       select $1, 'busy', 'sha256:' || md5(n::text) || md5(n::text), now(), now() from generate_series(1, $2::int) as n`,
      [repo, limits.tagHistoryMax + 5],
    ),
  );
  await point(repo, "busy", digestOf("b"));
  assert.equal(await rowsOf(repo), limits.tagHistoryMax);
  assert.equal((await digestsOf(repo, "busy"))[0], digestOf("b"));
  await point(repo, "still", digestOf("c"));
  world.clock.now += limits.tagHistoryKeptMs + 60_000;
  await runMaintenance(world.server.application.kernel);
  assert.deepEqual([await rowsOf(repo), await digestsOf(repo, "busy"), await digestsOf(repo, "still")], [2, [digestOf("b")], [digestOf("c")]]);
});
