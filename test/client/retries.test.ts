// Retries of the client: never if a second attempt could change more, never beyond the caller's timeout, and never before the server allows
// it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, createServer } from "node:http2";
import { after, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ApiError, type CallOptions, createClient } from "#contract-client";
import { methods } from "#contract/catalog.ts";
import { jsonPathOf } from "#contract/facts.ts";
import { fc, runs } from "../property.ts";
import { withValue } from "../samples.ts";
import { openScriptedServer, refusal, type Scripted } from "./scripted-server.ts";

const server = await openScriptedServer();
after(() => server.close());

const list = "chainguard.platform.iam.v2.GroupsService/ListGroups";
const create = "chainguard.platform.iam.v2.GroupsService/CreateGroup";
/** A write without a caller, for which the server stores no key. */
const register = "chainguard.platform.auth.Auth/Register";
const done: Scripted = { status: 200, body: "{}" };
const busy = refusal(503, 14);
const retryInfo = (seconds: string): object => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: seconds });

interface Outcome {
  readonly error: ApiError | undefined;
  readonly pausesMs: number[];
}

/** Calls once with instant pauses on a clock that advances by them. */
const callOnce = async (operation: string, options: CallOptions = {}, request: JsonObject = {}): Promise<Outcome> => {
  const pausesMs: number[] = [];
  const clock = { now: 0 };
  const client = createClient({
    server: server.url,
    clock: () => clock.now,
    wait: async (ms) => {
      pausesMs.push(ms);
      clock.now += ms;
    },
  });
  try {
    await client.call(operation, request, options);
    return { error: undefined, pausesMs };
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown));
    return { error: thrown, pausesMs };
  }
};

const keysSent = (): (string | string[] | undefined)[] => server.received.map(({ headers }) => headers["idempotency-key"]);

test("a read is retried while the server is busy or the connection fails, and then succeeds", async () => {
  server.play(busy, "cut", done);
  const { error, pausesMs } = await callOnce(list);
  assert.equal(error, undefined);
  assert.equal(server.received.length, 3);
  assert.equal(pausesMs.length, 2);
  assert.deepEqual(keysSent(), [undefined, undefined, undefined]);
});

test("a read over gRPC is retried if the server cuts the connection or the stream, and fails as unreachable", async () => {
  let received = 0;
  const cutting = createServer();
  cutting.on("stream", (stream) => {
    received++;
    if (received % 2 === 0) stream.session?.destroy();
    else stream.close(constants.NGHTTP2_CANCEL);
  });
  await once(cutting.listen(0, "127.0.0.1"), "listening");
  const address = cutting.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createClient({ server: `http://127.0.0.1:${address.port}`, transport: "grpc", wait: () => Promise.resolve() });
  await assert.rejects(client.call(list, {}), { code: "UNAVAILABLE", reason: "NO_CONNECTION" });
  assert.ok(received > 1, `${received} attempts`);
  cutting.close();
});

test("a write is retried with its first key, and another write has another key", async () => {
  server.play("cut", busy, done);
  assert.equal((await callOnce(create)).error, undefined);
  const [first, ...others] = keysSent();
  assert.match(String(first), /^[0-9a-f]{32}$/);
  assert.deepEqual(others, [first, first]);
  server.play(done);
  assert.equal((await callOnce(create)).error, undefined);
  assert.notEqual(keysSent()[0], first);
});

test("a write that the server stores no key for is sent once, even with the caller's key", async () => {
  for (const options of [{}, { idempotencyKey: "mine" }]) {
    for (const failing of [busy, "cut"] as const) {
      server.play(failing, done);
      const { error } = await callOnce(register, options);
      assert.equal(error?.code, "UNAVAILABLE");
      assert.equal(server.received.length, 1);
    }
  }
});

test("every write of the contract has a key or is sent once", async () => {
  let keyed = 0;
  for (const method of methods.filter(({ distribution, givesFile, scim }) => distribution === undefined && !givesFile && scim === undefined)) {
    server.play(busy);
    const names = [...(method.http[0]?.template ?? "").matchAll(/\{([^}=]+)/g)].map(([, name = ""]) => jsonPathOf(method.input, name));
    await callOnce(
      method.name,
      {},
      names.reduce((built, path) => withValue(built, path, "0f"), {} as JsonObject),
    );
    assert.ok(server.received.length > 0, method.name);
    const keys = keysSent();
    const isOneCall = keys.length === 1 || (keys[0] !== undefined && new Set(keys).size === 1);
    assert.ok(method.writes ? isOneCall : keys.every((key) => key === undefined), method.name);
    if (method.writes && keys.length > 1) keyed++;
  }
  assert.ok(keyed > 30);
});

const hint = fc.integer({ min: 0, max: 40_000 });
const failure = fc.oneof(
  fc.constant<Scripted>("cut"),
  fc.constant(busy),
  hint.map((ms) => refusal(429, 8, [retryInfo(`${(ms / 1000).toFixed(3)}s`)])),
  hint.map((ms) => refusal(429, 8, [], { "retry-after": String(Math.ceil(ms / 1000)) })),
  fc.constant(refusal(429, 8)),
  fc.constantFrom(refusal(400, 3), refusal(404, 5), refusal(500, 13), refusal(504, 4), refusal(409, 10), { status: 502, body: "<html>" }),
);

const hintOf = (step: Scripted): number | undefined => {
  if (step === "cut") return 0;
  const body = JSON.parse(step.body?.startsWith("{") ? step.body : '{"code":14,"details":[]}') as { code: number; details: { retryDelay: string }[] };
  const after = step.headers?.["retry-after"];
  const said = body.details[0] ? Number.parseFloat(body.details[0].retryDelay) * 1000 : after === undefined ? undefined : Number(after) * 1000;
  return body.code === 14 ? (said ?? 0) : body.code === 8 ? said : undefined;
};

test("retries are bounded, wait as long as the server says within the timeout, and skip permanent errors", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(failure, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 60_000 }), async (script, timeoutMs) => {
      server.play(...script, done);
      const { error, pausesMs } = await callOnce(list, { timeoutMs: timeoutMs + 1000 });
      const sent = server.received.length;
      assert.ok(sent <= limits.clientTriesMax);
      assert.equal(pausesMs.length, sent - 1);
      assert.ok(pausesMs.reduce((sum, ms) => sum + ms, 0) < timeoutMs + 1000);
      for (const [index, ms] of pausesMs.entries()) {
        const asked = hintOf(script[index] ?? "cut");
        assert.ok(asked !== undefined && ms >= asked && ms <= asked + limits.clientPauseMaxMs, `a pause of ${ms} where ${asked} was asked`);
      }
      if (error === undefined) assert.equal(sent, script.length + 1);
      else if (sent < limits.clientTriesMax) {
        const last = hintOf(script[sent - 1] ?? "cut");
        const passed = pausesMs.reduce((sum, ms) => sum + ms, 0);
        assert.ok(last === undefined || passed + last + limits.clientPauseMaxMs >= timeoutMs + 1000, "it gave up although there was time");
      }
    }),
    { numRuns: runs(60) },
  );
});

test("the pauses grow, and differ from client to client", async () => {
  const all: number[][] = [];
  for (let each = 0; each < 20; each++) {
    server.play(busy);
    const { pausesMs } = await callOnce(list);
    all.push(pausesMs);
    assert.equal(pausesMs.length, limits.clientTriesMax - 1);
    for (const [index, ms] of pausesMs.entries()) assert.ok(ms >= (limits.clientPauseMs * 2 ** index) / 2 && ms <= limits.clientPauseMs * 2 ** index);
  }
  assert.ok(new Set(all.map(([first]) => first)).size > 10);
});

test("an abort ends a call immediately: during an attempt, during a pause, before the first", async () => {
  server.play(busy);
  const stopping = new AbortController();
  const client = createClient({ server: server.url, onRetry: () => stopping.abort(new Error("enough")) });
  await assert.rejects(client.call(list, {}, { signal: stopping.signal }), /enough/);
  assert.equal(server.received.length, 1);
  await assert.rejects(client.call(list, {}, { signal: stopping.signal }), /enough/);
  assert.equal(server.received.length, 1);
});

test("a call ends at its timeout with an error that says so", async () => {
  const silent = await openScriptedServer();
  try {
    silent.play({ status: 200, headers: { "content-length": "1000" }, body: "{" });
    const client = createClient({ server: silent.url });
    await assert.rejects(
      client.call(list, {}, { timeoutMs: 50 }),
      (thrown) => thrown instanceof ApiError && thrown.code === "DEADLINE_EXCEEDED" && thrown.is("TIME_LIMIT"),
    );
  } finally {
    await silent.close();
  }
});

test("a write with a lost one-time secret fails with its own error, neither as success nor as never run", async () => {
  const invite = "chainguard.platform.iam.v2.GroupInvitesService/CreateGroupInvite";
  const replayed: Scripted = { status: 200, headers: { "gantry-replayed": "true", "gantry-left-out": "code" }, body: '{"uid":"x"}' };
  server.play("cut", replayed);
  const { error } = await callOnce(invite);
  assert.equal(error?.reason, "ANSWER_LOST");
  assert.match(error.message, /code/);
  // A caller with their own key knows that the write succeeded.
  server.play(replayed);
  assert.equal((await callOnce(invite, { idempotencyKey: "mine" })).error, undefined);
});
