// Servers, and the processes that read layers for them, are killed at random points while they read images. Each image is read once,
// completely, and matched once.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { limits } from "#base/limits.ts";
import { freePort } from "../free-port.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { openOwners } from "../owner.ts";
import { descriptorOf, ociManifest, openPusher } from "../pusher.ts";
import { configType } from "../registry.ts";
import { runImport } from "../story/import.ts";
import { openInstallation } from "../story/installation.ts";
import { start, stopAll } from "../story/processes.ts";
import { tarOf } from "../../server/registry/contents/tar.fixture.ts";

const kills = shortOrLong(2, 200);
const count = (kills + 1) * 5;
const random = randomNumbers(5);
const files = "application/vnd.oci.image.layer.v1.tar";

after(stopAll);

test(`each image is read once, and right, although ${kills} servers are killed while they read`, { timeout: shortOrLong(180_000, 3_600_000) }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-indexing-"));
  const installation = await openInstallation({ GANTRY_BLOBS: join(folder, "blobs") });
  try {
    const { world, environment } = installation;
    const { store } = world.server.application.services;
    const registry = openPusher(world, "first-organization/killed", () => openOwners(world).token());
    const advisory = join(folder, "advisory.json");
    await writeFile(
      advisory,
      JSON.stringify({
        id: "NPM-KILLED",
        modified: "2026-01-02T00:00:00Z",
        affected: [{ package: { ecosystem: "npm", name: "killed" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "2.0.0" }] }] }],
      }),
    );
    await runImport(world, "advisories", [advisory]);
    const config = await registry.blob(JSON.stringify({ architecture: "amd64", os: "linux" }), configType);
    const base = await registry.blob(tarOf([{ name: "app/node_modules/base/package.json", content: '{"name":"base","version":"1.0.0"}' }]), files);
    for (let index = 0; index < count; index++) {
      const content = `{"name":"killed","version":"1.0.${index}"}`;
      const own = await registry.blob(tarOf([{ name: "app/node_modules/killed/package.json", content }]), files);
      const layers = [base, own].map(descriptorOf);
      await registry.manifest({ schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers }, ociManifest, `t${index}`);
    }
    const one = async (statement: string): Promise<number> => Number((await store.read.query(statement))[0]?.[0]);
    const left = (): Promise<number> => one("select count(*) from image_contents where state = 'IMAGE_CONTENTS_STATE_PENDING'");
    for (let killed = 0; killed < kills; killed++) {
      const program = start(join(import.meta.dirname, "indexing.fixture.ts"), [String(killed)], {
        env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` },
      });
      await program.says(/started/);
      const until = count - (killed + 1) * 4;
      let isEnded = false;
      void program.ended.then(() => (isEnded = true));
      // It also ends when the rest of the images waits for a further try.
      while (!isEnded && (await left()) > until) await new Promise((resolve) => setImmediate(resolve));
      for (let looks = Math.floor(random() * 100); looks > 0; looks--) await left();
      program.signal("SIGKILL");
      await program.ended;
    }
    assert.ok((await left()) > 0);
    // The leases of the killed servers, and the delays before further tries, end.
    world.clock.now = Date.now() + limits.contentsRetryMaxMs;
    await world.server.contents.turn();
    await world.server.sboms.turn();
    assert.equal(await one("select count(*) from image_contents where state = 'IMAGE_CONTENTS_STATE_INDEXED' and package_count = 2"), count);
    assert.equal(await one("select count(*) from image_contents where due_time is not null or tries <> 0"), 0);
    assert.equal(await one("select count(*) from layer_contents"), count + 1);
    assert.equal(await one("select count(*) from affected_images where package_name = 'pkg:npm/killed' and end_time is null"), count);
    assert.equal(await one("select count(distinct installed_version) from affected_images where package_name = 'pkg:npm/killed'"), count);
    assert.equal((await world.events()).filter(({ type }) => type === "dev.gantry.images.affected.v1").length, 1);
  } finally {
    await stopAll();
    await installation.close();
    await rm(folder, { recursive: true, force: true });
  }
});
