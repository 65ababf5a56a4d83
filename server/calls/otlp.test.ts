// Spans on their way to a collector.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { openOtlpReceiver } from "../../test/otlp-receiver.ts";
import { openOtlp } from "./otlp.ts";
import { CallRecord } from "./record.ts";
import type { Traces } from "./trace.ts";

/** Traces calls with this many spans in total. */
const traceSpans = (traces: Traces, spans: number): void => {
  for (let left = spans; left > 0; ) {
    const trace = traces.beginCall(undefined);
    assert.ok(trace);
    const parts = Math.min(left, limits.tracePartsMax) - 1;
    for (let count = 0; count < parts; count++) trace.part("a part", 0, 1);
    trace.end(new CallRecord("", "rest", trace));
    left -= parts + 1;
  }
};

test("every span is counted once: sent, failed, or dropped while the collector does not respond", async (t) => {
  const receiver = await openOtlpReceiver();
  t.after(() => receiver.close());
  const counted = { sent: 0, failed: 0, dropped: 0 };
  const told: string[] = [];
  const settings = { url: `${receiver.url}/v1/traces`, sampler: "always_on", share: 1, perSecond: limits.tracesPerSecondMax } as const;
  const traces = openOtlp(settings, {
    version: "0",
    log: (event, fields) => void told.push(`${event} ${String(fields?.spans)}`),
    countSpans: (outcome, spans) => {
      counted[outcome] += spans;
    },
  });
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  };
  traceSpans(traces, 300);
  await until(() => counted.sent === 300);

  receiver.answer = 400;
  traceSpans(traces, 10);
  await until(() => counted.failed === 10);
  assert.deepEqual(told, ["traces.failed 10"]);

  // At once: the queue's capacity, and the batch being sent.
  receiver.answer = 200;
  const tooMany = limits.traceQueueSpans + limits.traceBatchSpans + 700;
  traceSpans(traces, tooMany);
  const { dropped } = counted;
  assert.equal(dropped, 700);
  await until(() => counted.sent === 300 + tooMany - dropped);
  assert.deepEqual(told, ["traces.failed 10", `traces.failed ${dropped}`]);
  assert.deepEqual([counted.failed, counted.dropped], [10, dropped]);
  assert.equal(receiver.spans.length, counted.sent);
  await traces.close();
});
