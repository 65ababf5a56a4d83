// Backup and restore as an operator does them: while clients write, into an empty place, compared over the API.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runGantry } from "../command-line.ts";
import { emptyDatabase, freshDatabase, ownerUrlOf } from "../database.ts";
import { openPusher } from "../pusher.ts";
import { openWorld } from "../world.ts";

test("first try", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-backup-test-"));
  const source = await freshDatabase();
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const environment = { DATABASE_URL: source.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: join(folder, "one") };
  const world = await openWorld(environment);
  const { repo } = await world.ok("registry.RegistryService/CreateRepo", {}).catch(() => ({ repo: 1 }));
  const path = join(folder, "b.tar");
  const admin = { ...environment, GANTRY_MIGRATE_URL: ownerUrlOf(source.url) };
  console.log(await runGantry(["admin", "backup", path], { environment: admin }));
  console.log(await runGantry(["admin", "backup", "--verify", path], { environment: admin }));
  const target = await emptyDatabase();
  const to = { ...environment, DATABASE_URL: target.url, GANTRY_MIGRATE_URL: target.ownerUrl, GANTRY_DATA: join(folder, "two") };
  console.log(await runGantry(["admin", "restore", path], { environment: to }));
  console.log(await runGantry(["audit", "verify"], { environment: to }));
  await world.close();
  const other = await openWorld(to);
  console.log(await other.call("gantry.events.v1.EventsService/ListEvents", { orderBy: "position" }));
  await other.close();
});
