// Metrics that an operator's Prometheus reads from a server with several organizations, compared with the work done.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { declared, unmeasured } from "#metrics";
import type { Read } from "#db";
import { runMaintenance } from "../../server/application/maintenance.ts";
import { watchRows } from "../../server/application/metrics-rows.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { readAlerts, readDashboard, readQuery } from "../monitoring.ts";
import { openPusher } from "../pusher.ts";
import { type Family, readScrape, valueOf } from "../scrape.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";
import { openSink, type Sink } from "./sink.ts";

let folder: string;
let database: TestDatabase;
let world: World;
let other: World;
let metricsUrl: string;
let otherUrl: string;
let sink: Sink;
let deadSink: Sink;

const tenants = ["zebrafink trading", "quagmire holdings", "xylophone works"];
const uids: string[] = [];

const scrape = async (url = metricsUrl): Promise<ReadonlyMap<string, Family>> => readScrape(await (await fetch(url)).text());

const finishWork = async (): Promise<void> => {
  await world.server.delivery.finish();
  await world.server.application.services.audit.finish();
};

const work = async (name: string): Promise<void> => {
  const uid = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  uids.push(uid);
  const failing = name === tenants[2];
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: uid, subscription: { sink: failing ? deadSink.url : sink.url } });
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: uid, repo: { name: "caterwaul-repo" } }), "uid");
  await openPusher(world, repo, await world.token(), name).image("amd64", "brouhaha-tag");
  await world.call("iam.GroupsService/CreateGroup", { parent: uid, group: {} });
  const identity = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: uid,
      identity: { name: "flibbertigibbet", claimMatch: { issuer: "https://kerfuffle.example.com", subject: "s" } },
    }),
    "uid",
  );
  await world.call("registry.ReposService/GetRepo", { uid: repo }, { token: await world.token(identity) });
  await fetch(`${world.url}/iam/v2/groups/${uid}`, { headers: { "user-agent": "lollygag/1.0" } });
  await fetch(`${world.url}/no/such/path/${uid}/${name}`);
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-metrics-"));
  database = await freshDatabase();
  await writeFile(join(folder, "key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  await writeFile(join(folder, "gobbledygook.jsonl"), '{"name": "org.example:bell", "ecosystem": "JAVA", "versions": ["1.0"]}\n');
  await writeFile(
    join(folder, "feeds.yaml"),
    ["gobbledygook.jsonl", "absent.jsonl"]
      .map((file) => `  - kind: libraries\n    source: ${join(folder, file)}\n    every: 6h\n`)
      .reduce((all, each) => all + each, "feeds:\n"),
  );
  const ports = [await freePort(), await freePort()];
  const environment = (port: number | undefined) => ({
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: join(folder, "key"),
    GANTRY_BLOBS: join(folder, "blobs"),
    GANTRY_FEEDS: join(folder, "feeds.yaml"),
    GANTRY_METRICS_LISTEN: `127.0.0.1:${port}`,
  });
  [metricsUrl = "", otherUrl = ""] = ports.map((port) => `http://127.0.0.1:${port}/metrics`);
  world = await openWorld(environment(ports[0]));
  other = await openWorld(environment(ports[1]));
  other.clock.now = world.clock.now;
  sink = await openSink();
  deadSink = await openSink();
  deadSink.answer = () => ({ status: 503 });
  // While there is only one organization, the one that the feeds are for.
  await world.server.feeds?.turn();
  for (const name of tenants) await work(name);
  await runMaintenance(world.server.application.kernel);
  await finishWork();
});
after(async () => {
  await world?.close();
  await other?.close();
  await sink?.close();
  await deadSink?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("a separate port serves only the metrics in Prometheus' format, and the API's port serves none", async () => {
  const answer = await fetch(metricsUrl);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const families = readScrape(await answer.text());
  assert.match(families.get("gantry_build_info")?.series[0]?.labels.version ?? "", /^\d+\.\d+\.\d+/);
  assert.equal((await fetch(metricsUrl, { method: "HEAD" })).status, 200);
  assert.equal((await fetch(metricsUrl, { method: "POST", body: "x" })).status, 405);
  for (const path of ["/", "/healthz", "/iam/v2/groups", "/metrics/", "/metricsx", "/__proto__"]) {
    const elsewhere = await fetch(new URL(path, metricsUrl));
    assert.equal(elsewhere.status, 404, path);
    assert.equal(((await elsewhere.json()) as { code: number }).code, 5);
  }
  assert.equal((await fetch(`${world.url}/metrics`)).status, 404);
});

test("metrics on the API's port require a token", async () => {
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
  }
});

/** This server has no replica, standby, list of hosts, certificate, backup or audit targets, and nothing expires. */
const withoutSeries: readonly string[] = [
  "gantry_replica_behind_seconds",
  "gantry_database_hosts",
  "gantry_standby_behind_bytes",
  "gantry_certificate_expiry_timestamp_seconds",
  "gantry_backup_last_timestamp_seconds",
  "gantry_retention_deleted_rows_total",
  "gantry_audit_target_behind_seconds",
  "gantry_audit_target_entries_total",
  "gantry_audit_target_failures_total",
];

test("every declared metric has a value on a server that has worked, and no other metric is exposed", async () => {
  const families = await scrape();
  assert.deepEqual([...families.keys()].sort(), Object.keys(declared).sort());
  const empty = [...families].filter(([, { series }]) => series.length === 0).map(([name]) => name);
  assert.deepEqual(empty, withoutSeries);
  for (const [name, { series }] of families)
    for (const { labels, value } of series)
      assert.ok(Number.isFinite(value) && (value >= 0 || name === "gantry_clock_ahead_seconds"), `${name}${JSON.stringify(labels)} is ${value}`);
});

test("every metric of the dashboard and alerts is in the scrape, with its labels", async () => {
  const families = await scrape();
  const queries = [...readDashboard(), ...readAlerts()];
  for (const query of queries)
    for (const { name, matchers } of readQuery(query).selectors) {
      if (name === "up") continue;
      const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ""));
      assert.ok(family, `${query.at}: ${name}`);
      if (withoutSeries.includes(name)) continue;
      const wanted = matchers.map(({ label }) => label).filter((label) => label !== "job" && label !== "instance");
      assert.ok(
        family.series.some((series) => series.name === name && wanted.every((label) => Object.hasOwn(series.labels, label))),
        `${query.at}: ${name} with ${wanted.join(", ")}`,
      );
    }
});

test("the counters equal the work done", async () => {
  const families = await scrape();
  const operation = (name: string) => ({ operation: `chainguard.platform.${name}` });
  assert.equal(valueOf(families, "gantry_request_seconds", { ...operation("iam.v2.GroupsService/CreateGroup"), code: "OK" }), tenants.length);
  assert.equal(valueOf(families, "gantry_request_seconds", { ...operation("iam.v2.GroupsService/CreateGroup"), code: "INVALID_ARGUMENT" }), tenants.length);
  assert.equal(valueOf(families, "gantry_request_seconds", { ...operation("registry.v2.ReposService/GetRepo"), code: "PERMISSION_DENIED" }), tenants.length);
  assert.equal(valueOf(families, "gantry_refusals_total", { reason: "PERMISSION_DENIED" }), tenants.length);
  assert.equal(valueOf(families, "gantry_delivery_attempts_total", { outcome: "delivered" }), sink.got.length);
  assert.ok(sink.got.length > 0);
  assert.equal(valueOf(families, "gantry_delivery_attempts_total", { outcome: "retried" }), deadSink.got.length);
  assert.equal(valueOf(families, "gantry_delivery_attempt_seconds", { status: "5xx" }), deadSink.got.length);
  assert.equal(valueOf(families, "gantry_outbound_requests_total", { purpose: "sink", outcome: "answered" }), sink.got.length + deadSink.got.length);
  const [position, blobs, bytes, pending] = (
    await world.server.application.services.store.read.query(
      `select (select max(position) from outbox), (select count(*) from blobs), (select sum(size_bytes) from blobs),
         (select count(*) from deliveries where state = 'DELIVERY_STATE_PENDING')`,
    )
  )[0] as string[];
  assert.equal(valueOf(families, "gantry_outbox_position"), Number(position));
  assert.equal(valueOf(families, "gantry_audit_sealed_position"), Number(position));
  assert.equal(valueOf(families, "gantry_audit_oldest_unsealed_seconds"), 0);
  assert.equal(valueOf(families, "gantry_registry_blobs"), Number(blobs));
  assert.equal(valueOf(families, "gantry_registry_stored_bytes"), Number(bytes));
  assert.ok(Number(blobs) >= tenants.length);
  assert.equal(valueOf(families, "gantry_deliveries", { state: "pending" }), Number(pending));
  assert.ok(Number(pending) > 0);
  assert.equal(valueOf(families, "gantry_feed_failures", { feed: "1", kind: "libraries" }), 0);
  assert.equal(valueOf(families, "gantry_feed_last_success_timestamp_seconds", { feed: "1" }), world.clock.now / 1000);
  assert.equal(valueOf(families, "gantry_feed_failures", { feed: "2", kind: "libraries" }), 1);
  assert.equal(valueOf(families, "gantry_feed_last_success_timestamp_seconds", { feed: "2" }), 0);
  assert.equal(valueOf(families, "gantry_feed_interval_seconds", { feed: "2" }), 6 * 3600);
  assert.equal(valueOf(families, "gantry_feeds_stale", { kind: "advisories" }), 0);
  // Either server may have claimed the feed.
  const failedFeeds = [families, await scrape(otherUrl)].map((each) => valueOf(each, "gantry_log_events_total", { event: "feed.failed", level: "warn" }));
  assert.deepEqual(failedFeeds.sort(), [0, 1]);
  assert.equal(valueOf(families, "gantry_maintenance_runs_total", { part: "outbox", outcome: "done" }), 1);
  assert.equal(valueOf(families, "gantry_maintenance_runs_total", { outcome: "failed" }), 0);
  // Loops and feeds of the servers read too, for a moment.
  let idle = families;
  while (valueOf(idle, "gantry_requests_in_flight") + valueOf(idle, "gantry_queue_held") > 0) idle = await scrape();
  for (const queue of [
    "organization-gets",
    "organization-lists",
    "organization-changes",
    "organization-writes",
    "organization-pages",
    "organization-wide-reads",
  ])
    assert.ok(valueOf(families, "gantry_queue_places", { queue }) > 0, queue);
  assert.ok(valueOf(families, "gantry_database_transactions_total", { outcome: "committed" }) > tenants.length);
  assert.ok(valueOf(families, "gantry_cache_requests_total", { cache: "rights", result: "hit" }) > 0);
});

test("servers of one database report equal values of shared metrics, and their own values of the rest", async () => {
  const [ours, theirs] = [await scrape(), await scrape(otherUrl)];
  const compared = Object.entries(declared).filter(([, metric]) => metric.of === "database");
  assert.ok(compared.length > 10);
  for (const [name] of compared) assert.deepEqual(theirs.get(name)?.series, ours.get(name)?.series, name);
  const creations = { operation: "chainguard.platform.iam.v2.GroupsService/CreateGroup" };
  assert.equal(valueOf(theirs, "gantry_request_seconds", creations), 0);
});

test("attack 187: metrics contain no tenant data: no UID, name, address or file", async () => {
  const told = await (await fetch(metricsUrl)).text();
  const labels = [...readScrape(told).values()].flatMap(({ series }) => series.flatMap((each) => Object.entries(each.labels)));
  assert.ok(labels.length > 500, `${labels.length} labels`);
  // The server's own words; any other word in the database belongs to a tenant.
  const own = new Set(["server", "organization", "identity"]);
  for (const [label, value] of labels) {
    assert.doesNotMatch(value, /[0-9a-f]{16}|:\/\/|@|%|127\.0\.0\.1|::/, `${label}="${value}"`);
    assert.ok(value.length <= 128);
  }
  for (const word of [
    ...tenants,
    ...tenants.flatMap((name) => name.split(" ")),
    "caterwaul",
    "brouhaha",
    "flibbertigibbet",
    "kerfuffle",
    "lollygag",
    "gobbledygook",
  ])
    assert.ok(!told.toLowerCase().includes(word.toLowerCase()), word);
  const tables = ["groups", "identities", "repos", "tags"];
  const rows = await asOwner(world.databaseUrl, tables.map((table) => `select uid, name from ${table}`).join(" union all "));
  const values = new Set(rows.flat());
  assert.ok(values.size > 10, `${values.size} values`);
  for (const [label, value] of labels) if (!own.has(value)) assert.ok(!values.has(value), `${label}="${value}" stands in the database`);
  assert.ok(uids.length === tenants.length);
});

test("the number of series does not grow with the organizations' work", async () => {
  const seriesOf = (families: ReadonlyMap<string, Family>): string[] =>
    [...families].flatMap(([name, { series }]) => series.map((each) => `${name} ${each.name} ${JSON.stringify(each.labels)}`)).sort();
  // The folder of the blobs exists since the first push, and the disk is probed at intervals.
  const hasDisks = (series: readonly string[]): boolean => series.some((each) => each.includes('{"disk":"blobs"}'));
  let before = seriesOf(await scrape());
  while (!hasDisks(before)) before = seriesOf(await scrape());
  for (const name of ["balderdash", "collywobbles", "discombobulate"]) await work(name);
  await finishWork();
  const later = new Set(seriesOf(await scrape()));
  const added = [...later].filter((each) => !before.includes(each));
  assert.deepEqual(added, []);
});

test("database metrics are cached: frequent scrapes do not repeat the queries", async () => {
  const { read } = world.server.application.services.store;
  const asked: string[] = [];
  const counted: Read = {
    ...(read.shared ? { shared: read.shared } : {}),
    query: (text, values, cost) => {
      asked.push(text);
      return read.query(text, values, cost);
    },
  };
  const readers: (() => unknown)[] = [];
  const metrics = { ...unmeasured, watch: (_name: string, reader: () => unknown) => void readers.push(reader) };
  const feeds = world.server.feeds?.feeds ?? [];
  watchRows(metrics, { store: { read: counted }, clock: () => world.clock.now, feeds, feedStaleMs: 1 });
  for (let scrapes = 0; scrapes < 20; scrapes++) await Promise.all(readers.map((reader) => reader()));
  assert.ok(readers.length > 15);
  assert.equal(new Set(asked).size, asked.length, "a statement was asked twice");
  assert.equal(asked.length, 9);
});
