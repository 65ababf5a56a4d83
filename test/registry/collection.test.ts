// Blob collection during pushes deletes only unreferenced content, never acknowledged or needed content. Verification names missing content.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeBlobKey, uploadStart } from "#registry/blobs";
import { limits } from "#base/limits.ts";
import { type BlobVerdict, collect, openCollection, verifyRegistry } from "#registry/collection";
import { randomNumbers, shortOrLong } from "../length.ts";
import { openWorld, type World } from "../world.ts";
import { digestOf } from "../distribution.ts";
import { newConfig, openRegistryClient, type RegistryClient } from "./images.ts";

let world: World;
let client: RegistryClient;
let blobsFolder: string;
const organization = "first-organization";

before(async () => {
  blobsFolder = await mkdtemp(join(tmpdir(), "gantry-collection-"));
  world = await openWorld({ GANTRY_BLOBS: blobsFolder });
  client = openRegistryClient(world.url, () => world.token());
});
after(async () => {
  await world.close();
  await rm(blobsFolder, { recursive: true, force: true });
});

const collectAll = async (): Promise<void> => {
  for await (const _ of collect(world.server.application.services));
};

const verify = async (hidesBroken = false): Promise<{ verdicts: BlobVerdict[]; healed: number }> => {
  const verdicts: BlobVerdict[] = [];
  const { broken, healed } = await verifyRegistry(world.server.application.services, {
    hidesBroken,
    report: (verdict) => void verdicts.push(verdict),
    progress: () => {},
  });
  assert.equal(broken, verdicts.length);
  return { verdicts, healed };
};

/** Returns the keys of all content in the blob directory. */
const storedKeys = async (): Promise<string[]> => (await Array.fromAsync(world.server.application.services.blobs.list())).map(({ key }) => key).sort();

const described = (content: Uint8Array): { digest: string; size: number } => ({ digest: digestOf(content), size: content.byteLength });

const pushImage = async (
  repo: string,
  tag: string,
  layers: readonly Uint8Array[] = [randomBytes(50_000)],
): Promise<{ digest: string; layers: readonly string[] }> => {
  const config = newConfig();
  for (const each of [config, ...layers]) await client.pushBlob(repo, each);
  return { digest: await client.pushManifest(repo, tag, [config, ...layers].map(described)), layers: layers.map((bytes) => digestOf(bytes)) };
};

const head = async (repo: string, digest: string): Promise<number> => (await client.request("HEAD", `/v2/${repo}/blobs/${digest}`)).status;

test("content of a manifest stays; an unreferenced layer is deleted with its bytes when its lease expires", async () => {
  const repo = `${organization}/kept`;
  const before = await storedKeys();
  const { digest } = await pushImage(repo, "1");
  const alone = await client.pushBlob(repo, randomBytes(1000));
  const withImage = await storedKeys();
  assert.equal(withImage.length, before.length + 3);
  await collectAll();
  assert.equal(await head(repo, alone), 200, "its push may still be under way");
  world.clock.now += limits.blobLeaseMs + 1000;
  await collectAll();
  assert.equal(await head(repo, alone), 404);
  assert.equal((await storedKeys()).length, before.length + 2);
  await client.pull(repo, digest);
  await client.pull(repo, "1");
});

test("a HEAD with 200, a mount and a push of existing content renew a blob's lease", async () => {
  const [repo, other] = [`${organization}/leased`, `${organization}/mounted`];
  const contents = [randomBytes(1001), randomBytes(1002), randomBytes(1003), randomBytes(1004)] as const;
  const [headed, mounted, again, left] = contents;
  await pushImage(repo, "1");
  for (const each of contents) await client.pushBlob(repo, each);
  await pushImage(other, "1");
  world.clock.now += limits.blobLeaseMs - 1000;
  assert.equal(await head(repo, digestOf(headed)), 200);
  assert.equal((await client.request("POST", `/v2/${other}/blobs/uploads/?mount=${digestOf(mounted)}&from=${repo}`)).status, 201);
  await client.pushBlob(repo, again);
  world.clock.now += 2000;
  await collectAll();
  assert.equal(await head(repo, digestOf(headed)), 200);
  assert.equal(await head(other, digestOf(mounted)), 200, "the content is the other repo's too");
  assert.equal(await head(repo, digestOf(mounted)), 404, "this one has it no longer");
  assert.equal(await head(repo, digestOf(again)), 200);
  assert.equal(await head(repo, digestOf(left)), 404);
  const config = newConfig();
  await client.pushBlob(repo, config);
  await client.pull(repo, await client.pushManifest(repo, "late", [config, headed, again].map(described)));
});

test("content is deleted with its repo and manifest, and stays in other repos", async () => {
  // Content of earlier tests.
  world.clock.now += limits.blobLeaseMs + 1000;
  await collectAll();
  const shared = randomBytes(30_000);
  const [first, second] = [`${organization}/gone-1`, `${organization}/gone-2`];
  const image = await pushImage(first, "1", [shared, randomBytes(10_000)]);
  const kept = await pushImage(second, "1", [shared]);
  world.clock.now += limits.blobLeaseMs + 1000;
  // And content that was pushed twice.
  await collectAll();
  const before = (await storedKeys()).length;
  assert.equal((await client.request("DELETE", `/v2/${first}/manifests/${image.digest}`)).status, 202);
  await collectAll();
  assert.equal((await storedKeys()).length, before - 2, "its configuration and the layer that it alone had");
  await client.pull(second, kept.digest);
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "gone-2" });
  const [{ uid } = { uid: "" }] = repos as { uid: string }[];
  await world.ok("registry.ReposService/DeleteRepo", { uid });
  await collectAll();
  assert.equal((await storedKeys()).length, before - 2, "the repo may come back");
  const { deletions } = await world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [uid] });
  await world.ok("gantry.deletions.v1.DeletionsService/ExpungeDeletion", { uid: String((deletions as { uid: string }[])[0]?.uid) });
  await collectAll();
  assert.equal((await storedKeys()).length, before - 4);
});

test("an idle upload expires after a week; content without a row expires after half an hour, or a week if complete", async () => {
  const repo = `${organization}/open`;
  await pushImage(repo, "1");
  const { headers } = await client.request("POST", `/v2/${repo}/blobs/uploads/`);
  const location = headers.get("location") ?? "";
  const withoutUpload = await storedKeys();
  assert.equal((await client.request("PATCH", location, randomBytes(5000), { "content-type": "application/octet-stream" })).status, 202);
  const before = await storedKeys();
  const uploading = before.find((key) => !withoutUpload.includes(key));
  const { blobs } = world.server.application.services;
  // By file times, which no test clock sets.
  const setClock = (ms: number): void => void (world.clock.now = ms);
  const nowMs = world.clock.now;
  const [begun, complete] = [makeBlobKey(), makeBlobKey()];
  const points = [];
  for (const key of [begun, complete])
    points.push(
      await blobs.append(
        key,
        uploadStart,
        (async function* () {
          yield randomBytes(10);
        })(),
      ),
    );
  await blobs.complete(complete, points[1] ?? assert.fail());
  setClock(Date.now() + limits.unnamedKeptMs - 60_000);
  await collectAll();
  assert.deepEqual(
    [begun, complete].filter((key) => before.includes(key)),
    [],
  );
  const fresh = await storedKeys();
  assert.ok(fresh.includes(begun) && fresh.includes(complete), "a request may be writing them");
  setClock(Date.now() + limits.unnamedKeptMs + 60_000);
  await collectAll();
  assert.ok(!(await storedKeys()).includes(begun));
  assert.ok((await storedKeys()).includes(complete), "this database may be an older copy");
  setClock(Math.max(nowMs, Date.now()) + limits.uploadKeptMs + 60_000);
  await collectAll();
  assert.equal((await client.request("GET", location)).status, 404);
  assert.deepEqual(
    await storedKeys(),
    before.filter((key) => key !== uploading),
  );
  await client.pull(repo, "1");
});

test("one server at a time collects, once per interval", async () => {
  const { services } = world.server.application;
  const [one, two] = [openCollection(services), openCollection(services)];
  const walk = async (turn: () => Promise<boolean>): Promise<void> => {
    while (await turn());
  };
  const repo = `${organization}/turns`;
  // A HEAD would renew the lease.
  const isThere = async (digest: string): Promise<boolean> => (await client.request("GET", `/v2/${repo}/blobs/${digest}`)).status === 200;
  await pushImage(repo, "1");
  const alone = await client.pushBlob(repo, randomBytes(100));
  world.clock.now += limits.blobLeaseMs - limits.collectionMs / 4;
  await walk(one);
  world.clock.now += limits.collectionMs / 2;
  await walk(one);
  await walk(two);
  assert.ok(await isThere(alone), "nobody's turn has come");
  world.clock.now += limits.collectionMs;
  await walk(two);
  assert.ok(!(await isThere(alone)));
});

test("verification names missing and corrupt content, and the next push replaces it once hidden", async () => {
  const repo = `${organization}/broken`;
  const [lost, rotten, fine] = [randomBytes(20_000), randomBytes(20_001), randomBytes(20_002)];
  const config = newConfig();
  for (const each of [config, lost, rotten, fine]) await client.pushBlob(repo, each);
  const digest = await client.pushManifest(repo, "1", [config, lost, rotten, fine].map(described));
  assert.deepEqual((await verify()).verdicts, []);
  const { store, blobs } = world.server.application.services;
  const keyOf = async (content: Uint8Array): Promise<string> =>
    (await store.read.query("select key from blobs where sha256 = $1", [digestOf(content)]))[0]?.[0] ?? "";
  await blobs.remove(await keyOf(lost));
  const rottenKey = await keyOf(rotten);
  const path = join(blobsFolder, "content", rottenKey.slice(0, 2), rottenKey);
  await writeFile(path, randomBytes(20_001));
  const { verdicts } = await verify();
  assert.deepEqual(
    verdicts.map(({ digest, problem }) => [digest, problem]).sort(),
    [
      [digestOf(lost), "is not there"],
      [digestOf(rotten), "does not match its digest"],
    ].sort(),
  );
  assert.ok(verdicts.every(({ repos }) => repos.length === 1));
  assert.equal(await head(repo, digestOf(lost)), 200, "a client would not send it");
  await verify(true);
  assert.equal(await head(repo, digestOf(lost)), 404);
  assert.equal(await head(repo, digestOf(fine)), 200);
  for (const each of [lost, rotten]) await client.pushBlob(repo, each);
  assert.deepEqual((await verify()).verdicts, []);
  await client.pull(repo, digest);
  await rm(path, { force: true });
});

test("concurrent pushes, deletions and collection never lose acknowledged content", async () => {
  // A world with a clock near its files' times, so that new content does not look abandoned.
  const busy = await openWorld();
  try {
    const { services } = busy.server.application;
    const own = openRegistryClient(busy.url, () => busy.token());
    const random = randomNumbers(15);
    const pool = Array.from({ length: 12 }, () => randomBytes(1000 + Math.floor(random() * 200_000)));
    const repos = ["a", "b", "c"].map((name) => `${organization}/busy-${name}`);
    const held = new Map<string, { repo: string; digest: string }>();
    let [isOver, pushes, walks] = [false, 0, 0];
    let [running, reopened] = [0, Promise.resolve()];
    const pushImageOf = async (worker: number, choose: () => number): Promise<void> => {
      const repo = repos[Math.floor(choose() * repos.length)] ?? "";
      const layers = [...new Set(Array.from({ length: 1 + Math.floor(choose() * 3) }, () => pool[Math.floor(choose() * pool.length)] ?? Buffer.alloc(1)))];
      const config = newConfig();
      for (const each of [config, ...layers]) {
        // As clients do: existing content is not sent, and content of another repo is mounted.
        if ((await own.request("HEAD", `/v2/${repo}/blobs/${digestOf(each)}`)).status === 200) continue;
        const way = choose();
        if (way < 0.3 && (await own.request("POST", `/v2/${repo}/blobs/uploads/?mount=${digestOf(each)}`)).status === 201) continue;
        await (way < 0.6 ? own.pushBlob(repo, each) : own.pushBlobInPieces(repo, each, 60_000));
      }
      const digest = await own.pushManifest(repo, `t${worker}`, [config, ...layers].map(described));
      held.set(digest, { repo, digest });
      pushes++;
      const [old] = held.values();
      if (choose() < 0.6 && old && held.delete(old.digest)) await own.request("DELETE", `/v2/${old.repo}/manifests/${old.digest}`);
    };
    const pushing = async (worker: number): Promise<void> => {
      const choose = randomNumbers(worker);
      while (!isOver) {
        await reopened;
        running++;
        try {
          await pushImageOf(worker, choose);
        } finally {
          running--;
        }
      }
    };
    const collecting = async (): Promise<void> => {
      for (let day = 0; day < 6; day++) {
        // By number as well as time, so that a busy machine does as much.
        const [leastPushes, leastWalks] = [pushes + 4, walks + 3];
        const endMs = Date.now() + shortOrLong(0, 20_000);
        for (; pushes < leastPushes || walks < leastWalks || Date.now() < endMs; walks++) for await (const _ of collect(services));
        // A day passes between two pushes, not within one, since a lease is longer than a push.
        let open = (): void => {};
        reopened = new Promise((resolve) => (open = resolve));
        while (running > 0) await new Promise((resolve) => setImmediate(resolve));
        busy.clock.now += limits.blobLeaseMs + 1000;
        open();
      }
      isOver = true;
    };
    await Promise.all([...[1, 2, 3].map(pushing), collecting()]);
    for await (const _ of collect(services));
    for (const { repo, digest } of held.values()) await own.pull(repo, digest);
    const { broken, blobs } = await verifyRegistry(services, { hidesBroken: false, report: () => {}, progress: () => {} });
    assert.equal(broken, 0);
    assert.equal((await Array.fromAsync(services.blobs.list())).length, blobs, "nothing lies there that no repo has");
  } finally {
    await busy.close();
  }
});
