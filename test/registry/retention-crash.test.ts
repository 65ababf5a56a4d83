// Servers are killed in the middle of a retention run. The run ends, and each tag is deleted once, with one event and one deletion.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { runTagRetention } from "../../server/application/tag-retention.ts";
import { runImport } from "#kernel";
import { freePort } from "../free-port.ts";
import { shortOrLong } from "../length.ts";
import { openOwners } from "../owner.ts";
import { openInstallation } from "../story/installation.ts";
import { start, stopAll } from "../story/processes.ts";

const kills = shortOrLong(2, 8);
const tagsPerKill = 400;
const count = (kills + 1) * tagsPerKill + 200;
const kept = 50;
const dayMs = 24 * 60 * 60 * 1000;

after(stopAll);

test(`a retention run whose servers are killed ${kills} times ends once, and right`, { timeout: 600_000 }, async () => {
  const installation = await openInstallation();
  try {
    const { world, environment } = installation;
    const owner = openOwners(world).world();
    const { store } = world.server.application.services;
    const parent = world.organization;
    const repo = text(await owner.ok("registry.ReposService/CreateRepo", { parent, repo: { name: "killed" } }), "uid");
    const digest = `sha256:${"1".repeat(64)}`;
    for (let from = 0; from < count; from += 500)
      await runImport(world.server.application.kernel, `tags from ${from}`, async (call) => {
        for (let index = from; index < Math.min(count, from + 500); index++)
          await call(
            "chainguard.platform.registry.v2.TagsService/CreateTag",
            { parent: repo, tag: { name: `t${String(index).padStart(5, "0")}`, digest } },
            world.clock.now - (count - index + 1) * dayMs,
          );
      });
    const retentionRule: JsonObject = { name: "old", keepLast: kept };
    await owner.ok("gantry.registry.v1.RetentionRulesService/CreateRetentionRule", { parent, retentionRule });
    const one = async (statement: string): Promise<number> => Number((await store.read.query(statement, [repo]))[0]?.[0]);
    const left = (): Promise<number> => one("select count(*) from tags where left(uid, -17) = $1");
    for (let killed = 0; killed < kills; killed++) {
      const program = start(join(import.meta.dirname, "retention.fixture.ts"), [], {
        env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` },
      });
      await program.says(/started/);
      const until = count - (killed + 1) * tagsPerKill;
      while ((await left()) > until) await new Promise((resolve) => setImmediate(resolve));
      program.signal("SIGKILL");
      await program.ended;
    }
    const afterKills = await left();
    assert.ok(afterKills > kept, `${afterKills} tags are left`);
    // PostgreSQL may hold the lock of the killed server's transaction for a moment.
    while ((await one("select count(*) from retention_runs where organization = left($1, 40) and due_time <= now()")) > 0) {
      world.clock.now = Date.now();
      await runTagRetention(world.server.application.kernel);
    }
    assert.equal(await left(), kept);
    const names = await store.read.query("select min(name), max(name) from tags where left(uid, -17) = $1", [repo]);
    assert.deepEqual(names[0], [`t${String(count - kept).padStart(5, "0")}`, `t${String(count - 1).padStart(5, "0")}`]);
    const deleted = "type = 'dev.chainguard.api.platform.registry.tag.deleted.v1' and starts_with(subject, $1)";
    assert.equal(await one(`select count(*) from outbox where ${deleted}`), count - kept);
    assert.equal(await one(`select count(distinct subject) from outbox where ${deleted}`), count - kept);
    assert.equal(await one("select count(*) from deletions where parent_uid = $1 and row_count = 1"), count - kept);
    assert.equal(await one("select count(*) from retention_runs where organization = left($1, 40) and due_time > now() and seen_repo_uid = ''"), 1);
  } finally {
    await stopAll();
    await installation.close();
  }
});
