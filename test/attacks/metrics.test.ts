// Attacks on metrics (186, 187): strangers who read them or trigger their collection, and tenants whose names appear in them.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type OpenMetrics, openMetrics } from "#metrics";
import { silent } from "#base/log.ts";
import { openMetricsDocument } from "../../server/application/metrics-document.ts";
import { readScrape, valueOf } from "../scrape.ts";
import { openWorld, type World } from "../world.ts";

const token = "a-token-that-nobody-guesses-0123456789";
let folder: string;
let world: World;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-metrics-"));
  await writeFile(join(folder, "token"), token);
  world = await openWorld({ GANTRY_METRICS_TOKEN_FILE: join(folder, "token") });
});
after(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (authorization?: string, path = "/metrics"): Promise<Response> =>
  fetch(`${world.url}${path}`, authorization === undefined ? {} : { headers: { authorization } });

test("attack 186: metrics require the token, and each wrong token gets the same error", async () => {
  const wrong = [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token.toUpperCase()}`,
    `Basic ${token}`,
    token,
  ];
  const answers = await Promise.all([...wrong, `Bearer ${await world.token()}`].map((each) => ask(each)));
  const bodies = new Set<string>();
  for (const answer of answers) {
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    bodies.add(await answer.text());
  }
  assert.equal(bodies.size, 1);
  assert.ok(![...bodies].some((body) => body.includes("gantry_")));
  // A token in the query is ignored, since proxies log it.
  assert.equal((await ask(undefined, `/metrics?access_token=${token}`)).status, 401);
  assert.equal((await ask(`Bearer ${token}`)).status, 200);
});

test("attack 186: refused scrapes collect nothing, and concurrent scrapes share one collection", async () => {
  const metrics = await openMetrics({ log: silent });
  let reads = 0;
  metrics.watch("process_start_time_seconds", () => [{ labels: {}, value: ++reads }]);
  const scrape = openMetricsDocument(metrics, token);
  for (let count = 0; count < 50; count++) await assert.rejects(scrape("Bearer wrong"));
  assert.equal(reads, 0);
  await Promise.all(Array.from({ length: 50 }, () => scrape(`Bearer ${token}`)));
  assert.equal(reads, 1);
});

test("attack 187: label values beyond the limit are merged into one, and so are long values", async () => {
  const metrics: OpenMetrics = await openMetrics({ log: silent });
  for (let count = 0; count < 3_000; count++) metrics.count("gantry_refusals_total", { reason: `reason-${count}`, quota: "x".repeat(5_000) });
  const families = readScrape(await metrics.read());
  assert.equal(families.get("gantry_refusals_total")?.series.length, 1_001);
  assert.equal(valueOf(families, "gantry_refusals_total", { reason: "other", quota: "other" }), 2_000);
});
