// Declarations follow Prometheus' rules, and counts appear in the scrape.

import assert from "node:assert/strict";
import { test } from "node:test";
import { silent } from "#base/log.ts";
import { declared, type FinishedCall, openCallMetrics, openMetrics } from "#metrics";
import { readScrape, valueOf } from "../../test/scrape.ts";

test("names end in base units, totals are counters, and no label is one that Prometheus sets", () => {
  for (const [name, { kind, labels, help }] of Object.entries(declared)) {
    assert.match(name, /^(?:gantry|process)_[a-z0-9]+(?:_[a-z0-9]+)*$/);
    assert.equal(name.endsWith("_total"), kind === "counter", name);
    assert.doesNotMatch(name, /_(?:ms|milliseconds|minutes|kb|mb|percent|count|sum|bucket)(?:_|$)/);
    if (kind === "histogram") assert.match(name, /_(?:seconds|bytes)$/);
    assert.match(help, /^[^\n|]+\.$/, `the help of ${name}`);
    for (const label of Object.keys(labels)) assert.match(label, /^(?!le$|quantile$|job$|instance$|__)[a-z][a-z_]*$/, `${name} has a label ${label}`);
  }
});

test("a scrape contains every declared metric, even one never counted", async () => {
  const families = readScrape(await (await openMetrics({ log: silent })).read());
  for (const [name, { kind, help }] of Object.entries(declared)) {
    assert.equal(families.get(name)?.kind, kind, name);
    assert.equal(families.get(name)?.help, help);
  }
  assert.equal(families.size, Object.keys(declared).length);
});

test("a call is counted once, by operation, code and protocol, with sizes and parts of its time", async () => {
  const metrics = await openMetrics({ log: silent });
  const ended = openCallMetrics(metrics, () => 3);
  const call: FinishedCall = {
    protocol: "rest",
    operation: "chainguard.platform.iam.v2.GroupsService/ListGroups",
    code: "OK",
    reason: "",
    quota: "",
    isStream: false,
    receivedBytes: 10,
    sentBytes: 5_000,
    toAnswerMs: 100,
    turnMs: 10,
    databaseWaitMs: 20,
    databaseMs: 30,
  };
  ended(call);
  ended({ ...call, protocol: "grpc", code: "RESOURCE_EXHAUSTED", reason: "RATE_LIMIT_EXCEEDED", quota: "identity-requests" });
  ended({ ...call, protocol: "grpc", isStream: true, code: "CANCELLED" });
  const families = readScrape(await metrics.read());
  const { operation } = call;
  assert.equal(valueOf(families, "gantry_request_seconds", { operation, code: "OK" }), 1);
  assert.equal(valueOf(families, "gantry_request_seconds"), 2);
  assert.equal(valueOf(families, "gantry_requests_total", { protocol: "grpc" }), 2);
  assert.equal(valueOf(families, "gantry_requests_in_flight"), 3);
  assert.equal(valueOf(families, "gantry_refusals_total", { reason: "RATE_LIMIT_EXCEEDED", quota: "identity-requests" }), 1);
  assert.equal(valueOf(families, "gantry_refusals_total", { reason: "CANCELLED", quota: "" }), 1);
  const sums = families.get("gantry_request_part_seconds_total")?.series;
  assert.deepEqual(
    sums?.map(({ labels, value }) => [labels.part, Number(value.toFixed(3))]),
    [
      ["turn", 0.02],
      ["database_wait", 0.04],
      ["database", 0.06],
      ["other", 0.08],
    ],
  );
});

test("a metric that cannot be read is omitted and logged, without affecting others", async () => {
  const told: string[] = [];
  const metrics = await openMetrics({ log: (event) => void told.push(event) });
  metrics.watch("process_resident_memory_bytes", () => Promise.reject(new Error("no database")));
  metrics.watch("process_start_time_seconds", () => [{ labels: {}, value: 7 }]);
  const families = readScrape(await metrics.read());
  assert.deepEqual(families.get("process_resident_memory_bytes")?.series, []);
  assert.equal(valueOf(families, "process_start_time_seconds"), 7);
  assert.deepEqual(told, ["metrics.failed"]);
});
