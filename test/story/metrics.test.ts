// Metrics: what an operator's Prometheus reads of a running server.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readScrape } from "../scrape.ts";
import { freePort, openWorld, type World } from "../world.ts";

let world: World;
let metricsUrl: string;

before(async () => {
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  world = await openWorld({ GANTRY_METRICS_LISTEN: `127.0.0.1:${port}` });
});
after(() => world?.close());

test("a port of its own has the metrics in Prometheus' format and nothing else; the API's port has none", async () => {
  const answer = await fetch(metricsUrl);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const families = readScrape(await answer.text());
  assert.equal(families.get("process_start_time_seconds")?.series.length, 1);
  assert.match(families.get("gantry_build_info")?.series[0]?.labels.version ?? "", /^\d+\.\d+\.\d+/);
  assert.equal((await fetch(metricsUrl, { method: "HEAD" })).status, 200);
  assert.equal((await fetch(metricsUrl, { method: "POST", body: "x" })).status, 405);
  for (const path of ["/", "/healthz", "/iam/v2/groups", "/metrics/", "/metricsx", "/__proto__"]) {
    const other = await fetch(new URL(path, metricsUrl));
    assert.equal(other.status, 404, path);
    assert.equal(((await other.json()) as { code: number }).code, 5);
  }
  assert.equal((await fetch(`${world.url}/metrics`)).status, 404);
});

test("with a token alone the metrics are beside the API", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-metrics-"));
  const token = "k".repeat(32);
  await writeFile(join(folder, "token"), `${token}\n`);
  const beside = await openWorld({ GANTRY_METRICS_TOKEN_FILE: join(folder, "token") });
  try {
    const answer = await fetch(`${beside.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200);
    assert.ok(readScrape(await answer.text()).has("gantry_build_info"));
    assert.equal((await fetch(`${beside.url}/metrics`)).status, 401);
  } finally {
    await beside.close();
    await rm(folder, { recursive: true });
  }
});
