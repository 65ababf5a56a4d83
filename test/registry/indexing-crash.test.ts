// Servers, and the processes that read layers for them, are killed at random points while they read images. Each image is read once,
// completely, and matched once.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { limits } from "#base/limits.ts";
import { freePort } from "../free-port.ts";
import { alpine, apk, pushImage } from "../image-layers.ts";
import { randomNumbers, shortOrLong } from "../length.ts";
import { openOwners } from "../owner.ts";
import { descriptorOf, ociManifest, openPusher } from "../pusher.ts";
import { configType } from "../registry.ts";
import { runImport } from "../story/import.ts";
import { openInstallation } from "../story/installation.ts";
import { start, stopAll } from "../story/processes.ts";
import { openWorld } from "../world.ts";
import { tarOf } from "../../server/registry/contents/tar.fixture.ts";

const kills = shortOrLong(2, 40);
const readerKills = shortOrLong(4, 160);
const count = (kills + 1) * 2;
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
    await world.ok("gantry.registry.v1.SbomRulesService/CreateSbomRule", { parent: world.organization, sbomRule: { name: "all images" } });
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
      const program = start(join(import.meta.dirname, "indexing.fixture.ts"), [], {
        env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` },
      });
      await program.says(/started/);
      const until = count - (killed + 1);
      let isEnded = false;
      void program.ended.then(() => (isEnded = true));
      // It also ends when the rest of the images waits for a further try.
      while (!isEnded && (await left()) > until) await setImmediate();
      for (let looks = Math.floor(random() * 300); looks > 0 && !isEnded; looks--) await left();
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
    assert.equal(await one("select count(*) from image_contents where sbom_state = 'ATTACHED_SBOM_STATE_ATTACHED'"), count);
    assert.equal(await one("select count(*) from repo_manifests where subject <> ''"), count);
    const pushed = `select count(*) from (select data::jsonb -> 'body' ->> 'digest' as digest from outbox) as event
      where digest in (select sbom_digest from image_contents)`;
    assert.equal(await one(pushed), count);
    assert.equal(await one("select count(*) from affected_images where package_name = 'pkg:npm/killed' and end_time is null"), count);
    assert.equal(await one("select count(distinct installed_version) from affected_images where package_name = 'pkg:npm/killed'"), count);
    assert.equal((await world.events()).filter(({ type }) => type === "dev.gantry.images.affected.v1").length, 1);
  } finally {
    await stopAll();
    await installation.close();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Processes that this one has started, where the system lists them. */
const children = async (): Promise<number[]> => {
  const found = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").catch(() => "");
  return found.split(" ").filter(Boolean).map(Number);
};

test(`each image is read once, and right, although ${readerKills} processes that read layers are killed`, {
  timeout: shortOrLong(180_000, 1_800_000),
  skip: process.platform !== "linux",
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-indexing-"));
  const world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  try {
    const { store } = world.server.application.services;
    const registry = openPusher(world, "first-organization/readers", () => openOwners(world).token());
    const images = Math.ceil(readerKills / 2);
    for (let index = 0; index < images; index++) await pushImage(registry, `t${index}`, [alpine, apk(["killed", `1.0.${index}`])]);
    const count = async (where: string): Promise<number> => Number((await store.read.query(`select count(*) from image_contents where ${where}`))[0]?.[0]);
    const others = new Set(await children());
    let killed = 0;
    for (let turns = 0; (await count("state = 'IMAGE_CONTENTS_STATE_PENDING'")) > 0; turns++) {
      assert.ok(turns < 100);
      let isEnded = false;
      const turn = world.server.contents.turn().then(() => (isEnded = true));
      const seen = new Set<number>();
      while (!isEnded) {
        await setImmediate();
        const reader = (await children()).find((pid) => !others.has(pid) && !seen.has(pid));
        if (reader === undefined) continue;
        seen.add(reader);
        // No image is killed in all of its tries.
        if (killed >= readerKills || turns >= limits.contentsTriesMax - 1) continue;
        for (let looks = Math.floor(random() * 1500); looks > 0 && (await children()).includes(reader); looks--) await setImmediate();
        if (!(await children()).includes(reader)) continue;
        process.kill(reader, "SIGKILL");
        killed++;
      }
      await turn;
      world.clock.now += limits.contentsRetryMaxMs;
    }
    assert.ok(killed > readerKills / 2, `${killed} processes were killed`);
    assert.equal(await count("state = 'IMAGE_CONTENTS_STATE_INDEXED' and package_count = 1 and problem_count = 0 and due_time is null and tries = 0"), images);
    assert.equal(Number((await store.read.query("select count(*) from layer_contents"))[0]?.[0]), images);
  } finally {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  }
});
