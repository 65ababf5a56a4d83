import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault, quotaExceeded, throttled } from "#base/fault.ts";
import { silent } from "#base/log.ts";
import { openCalls } from "./calls.ts";
import { CallRecord, countStatement, currentCall, describeCall, runInCall, waitInQueue } from "./record.ts";

test("a refusal is recorded with its reason and the limit's name, never with its owner", () => {
  const cases: readonly (readonly [Fault, code: string, reason: string, quota: string])[] = [
    [throttled("too many", { name: "organization-writes", quota: 3, retryMs: 1 }), "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED", "organization-writes"],
    [quotaExceeded("no room", "organization:0a1b", "repos: at most 3", "repos"), "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "repos"],
    [new Fault("NOT_FOUND", "a text"), "NOT_FOUND", "", ""],
  ];
  const call = new CallRecord("a", "rest");
  for (const [fault, code, reason, quota] of cases) {
    call.refuse(fault);
    assert.deepEqual([call.code, call.reason, call.quota], [code, reason, quota]);
  }
});

test("a response without a fault gets the code of its status, and a fault keeps its code", () => {
  const codeOf = (status: number): string => {
    const call = new CallRecord("a", "http");
    call.answer(status);
    return call.code;
  };
  const codes = {
    200: "OK",
    304: "OK",
    302: "OK",
    400: "INVALID_ARGUMENT",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
  };
  for (const [status, code] of Object.entries(codes)) assert.equal(codeOf(Number(status)), code);
  const call = new CallRecord("a", "rest");
  call.refuse(new Fault("FAILED_PRECONDITION", "a text"));
  call.answer(400);
  assert.equal(call.code, "FAILED_PRECONDITION");
});

test("a statement's time is split at the moment when the database could start it", () => {
  const call = new CallRecord("a", "rest");
  const now = performance.now();
  // Sent 100 ms ago; the previous one finished 40 ms ago.
  countStatement(call, { text: "select", sentMs: now - 100, turnMs: now - 40, endedMs: now, failed: false });
  assert.equal(Math.round(call.databaseWaitMs), 60);
  assert.ok(call.databaseMs >= 40);
  // No statement before it.
  countStatement(call, { text: "select", sentMs: now - 10, turnMs: now - 500, endedMs: now, failed: false });
  assert.equal(Math.round(call.databaseWaitMs), 60);
  assert.equal(call.statements, 2);
});

test("work started by a call finds the call, and none after its end", async () => {
  const calls = openCalls({ log: silent });
  const call = calls.begin("rest");
  let goOn = (): void => {};
  const late = new Promise<void>((resolve) => (goOn = resolve));
  const behind = runInCall(call, async () => {
    await waitInQueue(Promise.resolve());
    describeCall({ caller: "somebody" });
    assert.equal(currentCall(), call);
    await late;
    describeCall({ caller: "nobody" });
    return currentCall();
  });
  assert.equal(currentCall(), undefined);
  await new Promise((resolve) => setImmediate(resolve));
  calls.end(call, false);
  goOn();
  assert.equal(await behind, undefined);
  assert.equal(call.caller, "somebody");
});

test("a call ends once", () => {
  const ended: string[] = [];
  const calls = openCalls({ log: silent, onEnd: ({ code }) => void ended.push(code) });
  const call = calls.begin("rest");
  assert.equal(calls.inFlight(), 1);
  call.answer(200);
  calls.end(call, false);
  calls.end(call, true);
  assert.deepEqual([ended, calls.inFlight()], [["OK"], 0]);
});

test("a slow response is logged, but slow transfers and streams are not", () => {
  const lines: unknown[] = [];
  const calls = openCalls({ log: (event, facts) => void lines.push([event, facts?.operation]) });
  const endedAfter = (operation: string, answerMs: number, isStream: boolean): void => {
    const call = calls.begin("rest");
    call.operation = operation;
    call.isStream = isStream;
    call.answeredMs = call.startedMs + answerMs;
    calls.end(call, false);
  };
  endedAfter("slow", 1001, false);
  endedAfter("quick", 999, false);
  endedAfter("stream", 5000, true);
  assert.deepEqual(lines, [["slow", "slow"]]);
});
