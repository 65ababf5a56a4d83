// Blob content that a crash leaves is deleted within an hour, and the operator's command collects immediately or previews it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { collectRegistry } from "#application";
import { limits } from "#base/limits.ts";
import { makeBlobKey, uploadStart } from "#registry/blobs";
import { openCollection } from "#registry/collection";
import { openWorld, type World } from "../world.ts";
import { digestOf } from "../distribution.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "./images.ts";

let world: World;
let client: RegistryClient;
before(async () => {
  world = await openWorld();
  client = openRegistryClient(world.url, () => world.token());
});
after(() => world?.close());

const storedKeys = async (): Promise<string[]> => (await Array.fromAsync(world.server.application.services.blobs.list())).map(({ key }) => key).sort();

/** Stores content without a row, as if the server was killed before its transaction. */
const leave = async (isComplete: boolean): Promise<string> => {
  const { blobs } = world.server.application.services;
  const key = makeBlobKey();
  const content = (async function* () {
    yield randomBytes(100);
  })();
  const point = await blobs.append(key, uploadStart, content);
  if (isComplete) await blobs.complete(key, point);
  return key;
};

test("leftovers of a crash are deleted within an hour while servers scan; after a gap in scans complete content stays", async () => {
  const turn = openCollection(world.server.application.services);
  const walkAt = async (ms: number): Promise<void> => {
    world.clock.now = ms;
    while (await turn());
  };
  // Files have the machine's time.
  const startMs = Date.now();
  await walkAt(startMs);
  const left = [await leave(true), await leave(false)];
  await walkAt(startMs + limits.leftoversMs);
  assert.deepEqual(await storedKeys(), [...left].sort(), "a request may be writing them");
  await walkAt(startMs + 2 * limits.leftoversMs + 60_000);
  assert.deepEqual(await storedKeys(), []);
  const complete = await leave(true);
  const unfinished = await leave(false);
  await walkAt(startMs + 6 * limits.leftoversMs);
  assert.deepEqual(await storedKeys(), [complete], `the database may be an older copy; ${unfinished} is worth nothing`);
  await walkAt(startMs + 7 * limits.leftoversMs);
  assert.deepEqual(await storedKeys(), [complete]);
});

test("a dry run lists exactly what the collection removes, and removes nothing", async () => {
  const { services } = world.server.application;
  const config = newConfig();
  const repo = "first-organization/collected";
  await client.pushBlob(repo, config);
  const image = [{ digest: digestOf(config), size: config.byteLength }];
  await client.pushManifest(repo, "1", image);
  await client.pushBlob(repo, randomBytes(3000));
  await client.pushBlob("first-organization/mistyped", randomBytes(2000));
  const { headers } = await client.request("POST", `/v2/${repo}/blobs/uploads/`);
  const upload = headers.get("location") ?? "";
  assert.equal((await client.request("PATCH", upload, randomBytes(1000), { "content-type": "application/octet-stream" })).status, 202);
  world.clock.now = Math.max(world.clock.now, Date.now()) + limits.uploadKeptMs + 60_000;
  await leave(false);
  const before = await storedKeys();
  const planned = await collectRegistry(services, { dryRun: true });
  assert.deepEqual(await storedKeys(), before);
  assert.deepEqual([planned.uploads, planned.pendingRepos, planned.contents, planned.contentBytes], [1, 1, 2, 5000]);
  assert.deepEqual(await collectRegistry(services, { dryRun: false }), planned);
  assert.equal((await storedKeys()).length, 1, "what the manifest needs");
  const nothing = await collectRegistry(services, { dryRun: true });
  assert.ok(
    Object.values(nothing).every((count) => count === 0),
    JSON.stringify(nothing),
  );
  await client.pull(repo, "1");
});
