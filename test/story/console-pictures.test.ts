// Pictures of the console in the README. `npm run pictures` takes them again, from real data.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type ConsoleWorld, openConsoleWorld, visit } from "../console.ts";
import { openOwners } from "../owner.ts";
import { openPusher } from "../pusher.ts";

const picture = join(import.meta.dirname, "..", "..", "docs", "images", "console-repo.png");
const size = { width: 1280, height: 800 };
const folder = mkdtempSync(join(tmpdir(), "gantry-console-pictures-"));

let opened: ConsoleWorld;

before(async () => {
  opened = await openConsoleWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  const { world } = opened;
  const owners = openOwners(world);
  const owned = owners.world();
  await owned.ok("iam.GroupsService/UpdateGroup", { group: { uid: world.organization, name: "acme" }, updateMask: "name" });
  const groups = ["payments", "platform"].map((name) => owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name } }));
  await Promise.all(groups);
  world.clock.now -= 40 * 86_400_000;
  const registry = openPusher(world, "acme/payments/ledger", () => owners.token());
  for (const [tag, days] of [
    ["1.0", 23],
    ["1.1", 11],
    ["1.2", 6],
  ] as const) {
    await registry.image("amd64", tag);
    world.clock.now += days * 86_400_000;
  }
});
after(async () => {
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The size of a PNG, from its header. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) });

test("the picture of a repo in the README can be taken again, and has its size", async () => {
  const { page, problems } = await opened.openAs("owner", "/console/acme/payments/-/repos/ledger");
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await visit(page, "/console/acme/payments/-/repos/ledger?tag=1.2");
  await page.locator("section.details dd", { hasText: "amd64" }).waitFor();
  await page.locator("tbody tr", { hasText: "weeks ago" }).first().waitFor();
  const taken = await page.screenshot();
  assert.deepEqual(sizeOf(taken), size);
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(picture, taken);
  assert.deepEqual(sizeOf(readFileSync(picture)), size);
  assert.deepEqual(problems, []);
  await page.close();
});
