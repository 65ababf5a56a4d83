// Attack 188: strangers who have their requests traced, and a collector that fails midway.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { samplerNames } from "#base/sampler-names.ts";
import { openSampling } from "../../server/calls/sampling.ts";
import { readTraceparent } from "../../server/calls/traceparent.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { openCalls, openTraces } from "#calls";
import { callHttp } from "../client.ts";
import { openOtlpReceiver, type ReceivedSpan } from "../otlp-receiver.ts";
import { freePort } from "../free-port.ts";
import { openWorld } from "../world.ts";

// The exporter's own timeout for an absent collector.
process.env.OTEL_EXPORTER_OTLP_TIMEOUT = "1500";

const receiver = await openOtlpReceiver();
after(() => receiver.close());

const asked = (each: number, flags = "01"): string => `00-${each.toString(16).padStart(32, "a")}-00f067aa0ba902b7-${flags}`;
const isTraced = (headers: Readonly<Record<string, string>>): boolean => headers["x-request-id"]?.length === 48;
const isCall = ({ kind }: ReceivedSpan): boolean => kind === 2;

test("attack 188: the sampled flag traces a few requests per second and displaces no other traces", async () => {
  const world = await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, GANTRY_TRACES_PER_SECOND: "5" });
  try {
    const before = receiver.spans.length;
    const startedMs = performance.now();
    const flood = await Promise.all(
      Array.from({ length: 400 }, (_, each) => callHttp(world.url, "GET", "/healthz", { headers: { traceparent: asked(each) } })),
    );
    const own = await callHttp(world.url, "GET", "/healthz");
    const seconds = Math.ceil((performance.now() - startedMs) / 1000);
    const kept = flood.filter(({ headers }) => isTraced(headers));
    assert.ok(kept.length >= 5 && kept.length <= 5 + 5 * seconds, `${kept.length} in ${seconds} s`);
    assert.ok(isTraced(own.headers));
    await receiver.find((span) => isCall(span) && own.headers["x-request-id"] === `${span.traceId}${span.spanId}`);
    assert.ok(receiver.spans.slice(before).filter(isCall).length <= 10 + 10 * seconds);
  } finally {
    await world.close();
  }
});

test("attack 188: the trace ID does not influence sampling, and a sampler without parents ignores them", () => {
  const parent = (sampled: boolean) => ({ traceId: `${"0".repeat(31)}1`, spanId: "1".repeat(16), sampled });
  const share = (sampler: (typeof samplerNames)[number], flag: boolean | undefined): number => {
    let [turn, nowMs] = [0, 0];
    // One second apart, so that the rate limit does not interfere; the sampling counter cycles.
    const sampling = openSampling(
      { sampler, share: 0.25, perSecond: 1 },
      () => (turn++ % 100) / 100,
      () => (nowMs += 2000),
    );
    return Array.from({ length: 100 }, () => sampling.call(flag === undefined ? undefined : parent(flag))).filter(Boolean).length;
  };
  const expected: Readonly<Record<(typeof samplerNames)[number], readonly [none: number, sampled: number, not: number]>> = {
    always_on: [100, 100, 100],
    always_off: [0, 0, 0],
    traceidratio: [25, 25, 25],
    parentbased_always_on: [100, 100, 0],
    parentbased_always_off: [0, 100, 0],
    parentbased_traceidratio: [25, 100, 0],
  };
  for (const sampler of samplerNames) assert.deepEqual([share(sampler, undefined), share(sampler, true), share(sampler, false)], expected[sampler], sampler);
});

test("attack 188: an invalid traceparent is ignored, in any form", () => {
  const whole = asked(1);
  assert.equal(readTraceparent(whole)?.sampled, true);
  assert.equal(readTraceparent(asked(1, "00"))?.sampled, false);
  assert.equal(readTraceparent(asked(1, "fe"))?.sampled, false);
  // A later version may have more fields; the known ones are read (W3C Trace Context §3.2.4).
  assert.equal(readTraceparent(`01${whole.slice(2)}-later`)?.spanId, "00f067aa0ba902b7");
  const none = [
    `${whole}, ${whole}`,
    whole.toUpperCase(),
    ` ${whole}`,
    `${whole}-`,
    `${whole}\n`,
    whole.slice(1),
    `01${whole.slice(2)}later`,
    `01${whole.slice(2)}-${"x".repeat(10_000)}`,
    whole.replace(/-0.*-/, `-${"0".repeat(16)}-`),
    `${whole.slice(0, 3)}${"0".repeat(32)}${whole.slice(35)}`,
    `ff${whole.slice(2)}`,
    "__proto__",
    `00-${"g".repeat(32)}-00f067aa0ba902b7-01`,
  ];
  for (const header of none) assert.equal(readTraceparent(header), undefined, header.slice(0, 80));
});

test("attack 188: a collector that refuses, hangs, dies or never existed delays no request and no shutdown", async () => {
  const failures: string[] = [];
  const collector = await openOtlpReceiver();
  const world = await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, GANTRY_TRACES_PER_SECOND: "1000" }, (event) => void failures.push(event));
  const callAll = async (): Promise<void> => {
    const token = await world.token();
    const answers = await Promise.all(Array.from({ length: 60 }, () => callHttp(world.url, "GET", "/iam/v2/groups?page_size=1", { token })));
    assert.ok(answers.every(({ code, headers }) => code === 0 && isTraced(headers)));
  };
  await callAll();
  await collector.asked();
  for (const answer of [400, 503, "hang"] as const) {
    collector.answer = answer;
    await callAll();
    await collector.asked();
  }
  await collector.close();
  await callAll();
  await world.close();
  assert.ok(failures.includes("traces.failed"));
  assert.ok(!failures.includes("fault"), [...new Set(failures)].join(" "));
});

test("attack 188: without a collector, requests are served and the log reports it", async () => {
  let told: (event: string) => void = () => {};
  const failed = new Promise<string>((resolve) => (told = (event) => event === "traces.failed" && resolve(event)));
  const world = await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` }, (event) => told(event));
  assert.equal((await callHttp(world.url, "GET", "/healthz")).status, 200);
  assert.equal(await failed, "traces.failed");
  await world.close();
});

test("attack 188: a request with countless statements exports a few spans and the number of omitted ones", async () => {
  const traces = await openTraces({ url: `${receiver.url}/v1/traces`, sampler: "always_on", share: 1, perSecond: 1 }, { version: "0", log: silent });
  const calls = openCalls({ log: silent, traces });
  const call = calls.begin("rest");
  for (let each = 0; each < 1000; each++) call.trace?.part("select", 0, 1, { "db.query.text": "x".repeat(100_000) });
  calls.end(call, false);
  await traces.close();
  const { traceId } = await receiver.find(({ spanId, kind }) => kind === 2 && call.requestId.endsWith(spanId));
  const spans = receiver.spans.filter((span) => span.traceId === traceId);
  assert.equal(spans.length, limits.tracePartsMax + 1);
  assert.equal(spans.find(isCall)?.attributes["gantry.parts_left_out"], 1000 - limits.tracePartsMax);
  for (const { attributes } of spans) assert.ok(String(attributes["db.query.text"] ?? "").length <= limits.traceTextMax);
});
