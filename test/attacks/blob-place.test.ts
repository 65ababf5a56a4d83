// Attacks on blob storage: a directory of another database, and clients that occupy shared slots.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { Fault } from "#base/fault.ts";
import { freshDatabase } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { newConfig, openRegistryClient } from "../registry/images.ts";
import { openWorld } from "../world.ts";

test("a server with a different or foreign blob directory does not start, and a running one stops serving (attack 97)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-places-"));
  const [database, other] = [await freshDatabase(), await freshDatabase()];
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const settings = (url: string, blobs: string) => ({ DATABASE_URL: url, GANTRY_SECRET_KEY_FILE: key, GANTRY_BLOBS: join(folder, blobs) });
  const refusal = (pattern: RegExp) => (thrown: unknown) => thrown instanceof Fault && thrown.code === "FAILED_PRECONDITION" && pattern.test(thrown.message);
  const first = await openWorld(settings(database.url, "right"));
  // The database chooses its directory with the first blob.
  const second = await openWorld(settings(database.url, "wrong"));
  try {
    const [client, late] = [first, second].map((world) => openRegistryClient(world.url, () => world.token())) as [
      ReturnType<typeof openRegistryClient>,
      ReturnType<typeof openRegistryClient>,
    ];
    const repo = "first-organization/place";
    const content = newConfig();
    await client.pushBlob(repo, content);
    const digest = await client.pushManifest(repo, "1", [{ digest: digestOf(content), size: content.byteLength }]);
    const path = `/v2/${repo}/blobs/${digestOf(content)}`;
    const denied = await late.request("GET", path);
    assert.equal(denied.status, 403, "not 404, which would say that it is gone");
    await assert.rejects(late.pushBlob(repo, newConfig()));
    await client.pull(repo, digest);
    await assert.rejects(openWorld(settings(database.url, "empty")), refusal(/empty is empty, but this database has blobs elsewhere/));
    await assert.rejects(openWorld(settings(database.url, "wrong")), refusal(/this database has blobs elsewhere|does not contain this database's blobs/));
    const stranger = await openWorld(settings(other.url, "right"));
    try {
      const strange = openRegistryClient(stranger.url, () => stranger.token());
      await assert.rejects(strange.pushBlob(repo, newConfig()), "a new database does not take another one's place");
    } finally {
      await stranger.close();
    }
    const third = await openWorld(settings(database.url, "right"));
    await openRegistryClient(third.url, () => third.token()).pull(repo, digest);
    await third.close();
  } finally {
    await second.close();
    await first.close();
    await database.drop();
    await other.drop();
    await rm(folder, { recursive: true, force: true });
  }
});

test("clients that start many uploads and then stall occupy no concurrency slot (attack 98)", async () => {
  const world = await openWorld();
  try {
    const client = openRegistryClient(world.url, () => world.token());
    const repo = "first-organization/slow";
    const config = newConfig();
    await client.pushBlob(repo, config);
    const silent = await Promise.all(
      Array.from({ length: 3 * limits.blobWriteSlots }, async () => {
        const { headers } = await client.request("POST", `/v2/${repo}/blobs/uploads/`);
        const sent = request(`${world.url}${headers.get("location")}`, {
          method: "PATCH",
          agent: false,
          headers: { authorization: `Bearer ${await world.token()}`, "content-type": "application/octet-stream", "content-length": 10_000_000 },
        });
        sent.on("error", () => {});
        // Enough bytes to get a slot, then silence.
        await new Promise<void>((resolve) => sent.write(randomBytes(100_000), () => resolve()));
        return sent;
      }),
    );
    const layer = randomBytes(3_000_000);
    await client.pushBlobInPieces(repo, layer, 1_000_000);
    const blobs = [config, layer].map((content) => ({ digest: digestOf(content), size: content.byteLength }));
    await client.pull(repo, await client.pushManifest(repo, "1", blobs));
    for (const each of silent) each.destroy();
  } finally {
    await world.close();
  }
});
