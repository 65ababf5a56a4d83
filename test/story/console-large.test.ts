// Tables of the console in a group with many repos: a million in the long form. Prints seconds, and requires what the pages show.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { type ConsoleWorld, openConsoleWorld, pageRequests, visit } from "../console.ts";
import { withOwner } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { openOwners } from "../owner.ts";

const count = shortOrLong(20_000, 1_000_000);
const middle = count / 2;
const nameAt = (index: number): string => `repo-${String(index).padStart(7, "0")}`;

let opened: ConsoleWorld;

before(async () => {
  opened = await openConsoleWorld();
  const owned = openOwners(opened.world).world();
  const group = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: opened.world.organization, group: { name: "large" } }), "uid");
  await withOwner(opened.world.databaseUrl, async (query) => {
    // Triggers count and announce row by row.
    await query("set session_replication_role = replica");
    await query(
      `insert into repos (uid, name, create_time, update_time)
       select $1 || '/' || substr(md5(n::text), 1, 16), 'repo-' || lpad(n::text, 7, '0'), now(), now() from generate_series(0, $2::integer - 1) as n`,
      [group, count],
    );
    await query("insert into place_counts (place, resource, slot, children, below) values ($1, 'repos', 0, $2, $2)", [group, count]);
    await query("insert into resource_counts (organization, resource, slot, row_count) values ($1, 'repos', 0, $2)", [group.slice(0, 40), count]);
    await query("set session_replication_role = origin");
    await query("analyze repos");
  });
});
after(() => opened?.close());

test("a group with many repos shows its first page with the exact total, and a position in the middle, in four requests each", async () => {
  const { page, problems, requests } = await opened.openAs("viewer", "/console/first-organization");
  const lines: string[] = [];
  for (const [what, address, first] of [
    ["first page", "/console/first-organization/large", 0],
    ["position in the middle", `/console/first-organization/large?repos=${middle}`, middle],
  ] as const) {
    const taken: number[] = [];
    for (let round = 0; round < 5; round++) {
      await visit(page, "/console/first-organization");
      await page.waitForLoadState("networkidle");
      const sentBefore = requests.length;
      const beganMs = performance.now();
      await visit(page, address);
      const section = page.locator("section.card", { hasText: "Repos" }).first();
      await section.locator("tbody tr", { hasText: nameAt(first) }).waitFor();
      await section.locator(".count", { hasText: count.toLocaleString("en") }).waitFor();
      taken.push(performance.now() - beganMs);
      assert.equal(await section.locator("tbody tr").count(), 50);
      const sent = pageRequests(requests.slice(sentBefore));
      assert.ok(sent.length <= 4, sent.map(({ url }) => url.pathname + url.search).join("\n"));
    }
    const seconds = (index: number): string => ((taken.toSorted((one, other) => one - other)[index] ?? 0) / 1000).toFixed(2);
    lines.push(`${count} repos, ${what}: ${seconds(2)} s (median of 5), ${seconds(4)} s at most`);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
  assert.deepEqual(problems, []);
  await page.close();
});
