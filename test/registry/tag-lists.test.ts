// Long tag lists are cached at each server: every change of a tag, at any server and over any protocol, shows in the next response of all
// servers.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { findLastGroupEvent } from "#db";
import { imageType, openRegistry, type RegistryClient } from "../registry.ts";
import { type Installation, openInstallation } from "../story/installation.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";

const repo = "first-organization/tags";
const many = limits.tagListKeptMin + 50;
const nameOf = (number: number): string => `v${String(number).padStart(4, "0")}`;

let installation: Installation | undefined;
let [uid, digest, blobsFolder] = ["", "", ""];
/** The server of this process, and one in its own process, on the same database. */
let servers: readonly RegistryClient[] = [];

const opened = (): Installation => installation ?? assert.fail("not begun");

const listOf = async (server: RegistryClient, query = ""): Promise<string[]> => {
  const answer = await server.send("GET", `${repo}/tags/list${query}`);
  assert.equal(answer.status, 200);
  const { name, tags } = (await answer.json()) as { name: string; tags: string[] };
  assert.equal(name, repo);
  return tags;
};

/** Waits until every event has a position, since lists are cached only from then on. */
const settled = async (): Promise<void> => {
  const { world } = opened();
  while ((await findLastGroupEvent(world.server.application.services.store.read, world.organization)) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
};

const namesInDatabase = async (): Promise<string[]> =>
  (await opened().world.server.application.services.store.read.query("select name from tags where starts_with(uid, $1)", [uid]))
    .map(([name]) => name ?? "")
    .sort();

/** Lists three times: a read, a read that fills the cache, and a cache hit. */
const assertListed = async (): Promise<void> => {
  const expected = await namesInDatabase();
  for (const server of servers) assert.deepEqual(await listOf(server), expected, "right after the change");
  await settled();
  for (let round = 0; round < 2; round++) for (const server of servers) assert.deepEqual(await listOf(server), expected);
};

before(async () => {
  blobsFolder = await mkdtemp(join(tmpdir(), "gantry-tags-"));
  installation = await openInstallation({ GANTRY_BLOBS: blobsFolder });
  const { world, environment } = installation;
  const port = await freePort();
  const { says } = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}` } });
  await says(/Gantry serves/);
  const token = `Bearer ${await world.token()}`;
  const here = openRegistry(world.url, token);
  servers = [here, openRegistry(`http://127.0.0.1:${port}`, token)];
  digest = await here.pushImage(repo, nameOf(0));
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "tags" });
  uid = text((repos as { uid: string }[])[0] ?? {}, "uid");
  for (let number = 1; number < many; number++) await world.ok("registry.TagsService/CreateTag", { parent: uid, tag: { name: nameOf(number), digest } });
});
after(async () => {
  await stopAll();
  await installation?.close();
  await rm(blobsFolder, { recursive: true, force: true });
});

test("a tag pushed, created or deleted at either server shows in the next response of both", async () => {
  const { world } = opened();
  await assertListed();
  const uidOf = async (name: string): Promise<string> => {
    const { tags } = await world.ok("registry.TagsService/ListTags", { name });
    return text((tags as { uid: string }[])[0] ?? {}, "uid");
  };
  for (const [index, server] of servers.entries()) {
    const pushed = `pushed-${index}`;
    const manifest = await (await server.send("GET", `${repo}/manifests/${digest}`, { headers: { accept: imageType } })).text();
    assert.equal((await server.send("PUT", `${repo}/manifests/${pushed}`, { body: manifest, headers: { "content-type": imageType } })).status, 201);
    await assertListed();
    assert.ok((await listOf(server)).includes(pushed));
    assert.equal((await server.send("DELETE", `${repo}/manifests/${pushed}`)).status, 202);
    await assertListed();
    await world.ok("registry.TagsService/CreateTag", { parent: uid, tag: { name: `created-${index}`, digest } });
    await assertListed();
    await world.ok("registry.TagsService/DeleteTag", { uid: await uidOf(`created-${index}`) });
    await assertListed();
  }
});

test("each page of a long list has its own cache entry", async () => {
  await settled();
  const expected = await namesInDatabase();
  for (let round = 0; round < 3; round++)
    for (const server of servers) {
      assert.deepEqual(await listOf(server, `?n=${limits.tagListKeptMin}`), expected.slice(0, limits.tagListKeptMin));
      assert.deepEqual(await listOf(server, `?n=${limits.tagListKeptMin}&last=${expected[9]}`), expected.slice(10, 10 + limits.tagListKeptMin));
      assert.deepEqual(await listOf(server, "?n=3"), expected.slice(0, 3));
      assert.deepEqual(await listOf(server), expected);
    }
});

test("a deleted repo has no list, and a new one of the same name has its own", async () => {
  const { world } = opened();
  await assertListed();
  await world.ok("registry.ReposService/DeleteRepo", { uid });
  for (const server of servers) assert.equal((await server.send("GET", `${repo}/tags/list`)).status, 404);
  const [here] = servers;
  await here?.pushImage(repo, "only");
  for (const server of servers) assert.deepEqual(await listOf(server), ["only"]);
});
