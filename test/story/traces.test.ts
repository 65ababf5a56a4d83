// Traces over REST and gRPC: a request with its queueing, statements and outbound requests in the caller's trace, together with the delivery of its
// event.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import pg from "pg";
import { text } from "#base/json.ts";
import { callHttp } from "../client.ts";
import { objectStorageMissing, startObjectStorage } from "../object-storage.ts";
import { openOtlpReceiver, type ReceivedSpan } from "../otlp-receiver.ts";
import { openRegistryClient } from "../registry/images.ts";
import { openWorld, type World } from "../world.ts";
import { openSink } from "./sink.ts";

const loadedPackages = (): string[] => Object.keys(createRequire(import.meta.url).cache).filter((path) => /@opentelemetry[\\/](?!api[\\/])/.test(path));

const receiver = await openOtlpReceiver();
const sink = await openSink();
let world: World | undefined;
after(async () => {
  await world?.close();
  await sink.close();
  await receiver.close();
});

const traceId = (seed: string): string => seed.repeat(32).slice(0, 32);
const parentSpan = "00f067aa0ba902b7";
const idOf = (headers: Readonly<Record<string, string>>): string => headers["x-request-id"] ?? assert.fail("no x-request-id");
const serverSpan = (spans: readonly ReceivedSpan[]): ReceivedSpan | undefined => spans.find(({ kind }) => kind === 2);

const traced = async (): Promise<World> => {
  world ??= await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  return world;
};

test("a server without an endpoint loads no OpenTelemetry SDK, accepts traceparent and responds as usual", async () => {
  const plain = await openWorld();
  const headers = { traceparent: `00-${traceId("ab")}-${parentSpan}-01` };
  const answer = await callHttp(plain.url, "GET", "/iam/v2/groups", { token: await plain.token(), headers });
  assert.equal(answer.code, 0);
  assert.match(idOf(answer.headers), /^[0-9a-f]{24}$/);
  await plain.close();
  assert.deepEqual(loadedPackages(), []);
  await traced();
  assert.ok(loadedPackages().length > 0, "the look is one that sees it");
});

test("a REST request is a span of its caller's trace, with its statements as children, without values", async () => {
  const { url, token, ok, organization, server, databaseUrl } = await traced();
  const name = "a-name-that-is-a-value";
  await ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name } });
  const trace = traceId("4bf92f3577b34da6a3ce929d0e0e4736");
  const answer = await callHttp(url, "GET", `/iam/v2/groups?name=${name}&uidp.descendants_of=${organization}`, {
    token: await token(),
    headers: { traceparent: `00-${trace}-${parentSpan}-01` },
  });
  assert.equal(answer.code, 0);
  const spans = await receiver.trace(trace, (found) => serverSpan(found) !== undefined);
  const call = serverSpan(spans) ?? assert.fail();
  // The request ID contains the trace ID.
  assert.equal(idOf(answer.headers), `${trace}${call.spanId}`);
  assert.equal(call.parentSpanId, parentSpan);
  assert.equal(call.name, "chainguard.platform.iam.v2.GroupsService/ListGroups");
  assert.deepEqual(
    [
      call.attributes["gantry.protocol"],
      call.attributes["gantry.code"],
      call.attributes["gantry.path"],
      call.attributes["http.response.status_code"],
      call.status,
    ],
    ["rest", "OK", organization, 200, 0],
  );
  assert.deepEqual([call.resource["service.name"], typeof call.resource["service.version"]], ["gantry", "string"]);
  const statements = spans.filter(({ attributes }) => attributes["db.system.name"] === "postgresql");
  assert.ok(statements.length > 0);
  for (const { parentSpanId, startNs, endNs, attributes, name: verb } of statements) {
    assert.equal(parentSpanId, call.spanId);
    assert.ok(startNs >= call.startNs && startNs <= endNs);
    assert.match(verb, /^(?:select|with)$/);
    assert.ok(!JSON.stringify(attributes).includes(name));
  }
  assert.deepEqual(receiver.requests[0], { path: "/v1/traces", type: "application/x-protobuf" });
  // The database sees the trace in a comment of unprepared statements.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ query: string }>("select query from pg_stat_activity where query like '%' || $1 || '%'", [trace]);
    assert.ok(rows.length > 0);
    for (const { query } of rows) assert.ok(query.endsWith(` /*traceparent='00-${trace}-${call.spanId}-01'*/`), query);
  } finally {
    await client.end();
  }
  for (let connection = 0; connection < 8; connection++) {
    const kept = await server.application.services.store.read.query("select statement from pg_prepared_statements where statement like '%' || $1 || '%'", [
      trace,
    ]);
    assert.deepEqual(kept, []);
  }
});

test("a gRPC request is a span of its caller's trace, with the commit among its statements", async () => {
  const { ok, organization } = await traced();
  const trace = traceId("c0ffee");
  await ok(
    "iam.GroupsService/CreateGroup",
    { parent: organization, group: { name: "by-grpc" } },
    { protocol: "grpc", headers: { traceparent: `00-${trace}-${parentSpan}-01` } },
  );
  const spans = await receiver.trace(trace, (found) => serverSpan(found) !== undefined);
  const call = serverSpan(spans) ?? assert.fail();
  assert.deepEqual(
    [call.name, call.parentSpanId, call.attributes["gantry.protocol"]],
    ["chainguard.platform.iam.v2.GroupsService/CreateGroup", parentSpan, "grpc"],
  );
  const verbs = spans.filter(({ attributes }) => attributes["db.system.name"]).map(({ name }) => name);
  assert.ok(verbs.includes("insert") && verbs.at(-1) === "commit", verbs.join(" "));
});

test("a request with a missing or invalid traceparent begins its own trace", async () => {
  const { url } = await traced();
  const none = [
    undefined,
    "",
    "nonsense",
    `00-${"0".repeat(32)}-${parentSpan}-01`,
    `00-${traceId("ab")}-${parentSpan}-01-more`,
    `ff-${traceId("ab")}-${parentSpan}-01`,
  ];
  const answers = await Promise.all(none.map((traceparent) => callHttp(url, "GET", "/healthz", { headers: traceparent === undefined ? {} : { traceparent } })));
  for (const [index, answer] of answers.entries()) {
    const call = await receiver.find(({ spanId, kind }) => kind === 2 && idOf(answer.headers).endsWith(spanId));
    assert.equal(call.parentSpanId, "", String(none[index]));
    assert.notEqual(call.traceId, traceId("ab"));
    assert.equal(call.name, "/healthz");
  }
});

test("a trace that its caller does not sample is not sampled here", async () => {
  const { url } = await traced();
  const answer = await callHttp(url, "GET", "/healthz", { headers: { traceparent: `00-${traceId("ab")}-${parentSpan}-00` } });
  assert.match(idOf(answer.headers), /^[0-9a-f]{24}$/);
});

test("an event's delivery is in the trace of its request, and the sink receives the trace context", async () => {
  const { ok, organization, server } = await traced();
  await ok("events.SubscriptionsService/CreateSubscription", { parent: organization, subscription: { sink: sink.url } });
  await server.delivery.finish();
  const trace = traceId("dead5eed");
  await ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "told" } }, { headers: { traceparent: `00-${trace}-${parentSpan}-01` } });
  await server.delivery.finish();
  const spans = await receiver.trace(trace, (found) => serverSpan(found) !== undefined && found.some(({ name }) => name === "deliver"));
  const call = serverSpan(spans) ?? assert.fail();
  const delivery = spans.find(({ name }) => name === "deliver") ?? assert.fail();
  assert.deepEqual([delivery.parentSpanId, delivery.kind, delivery.attributes["gantry.outcome"]], [call.spanId, 4, "2xx"]);
  const event = sink.got.find(({ headers }) => String(headers.traceparent).includes(trace)) ?? assert.fail("the sink was not told");
  assert.equal(event.headers.traceparent, `00-${trace}-${delivery.spanId}-01`);
  assert.equal(event.headers["ce-traceparent"], `00-${trace}-${call.spanId}-01`);
  assert.equal(text(await ok("iam.GroupsService/GetGroup", { uid: String(event.headers["ce-subject"]) }), "name"), "told");
});

test("outbound requests are spans of the request and carry no trace context", async () => {
  const { url, ok, organization } = await traced();
  const asked: (string | undefined)[] = [];
  const issuer = createServer(({ headers }, response) => {
    asked.push(JSON.stringify(headers));
    response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(issuer, "listening");
  try {
    const address = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
    const identity = { name: "of another issuer", claimMatch: { issuer: address, subject: "somebody" } };
    const made = await ok("iam.IdentitiesService/CreateIdentity", { parent: organization, identity });
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const expires = Math.floor(Date.now() / 1000) + 600;
    const token = `${part({ alg: "RS256", kid: "a" })}.${part({ iss: address, sub: "somebody", aud: url, exp: expires, iat: expires - 900 })}.${part({})}`;
    const trace = traceId("facade");
    await callHttp(url, "GET", "/iam/v2/groups", { token, headers: { "gantry-identity": text(made, "uid"), traceparent: `00-${trace}-${parentSpan}-01` } });
    const spans = await receiver.trace(trace, (found) => serverSpan(found) !== undefined);
    const outbound = spans.find(({ name }) => name === "ask issuer") ?? assert.fail(spans.map(({ name }) => name).join(" "));
    assert.deepEqual([outbound.attributes["server.address"], outbound.attributes["http.response.status_code"]], [new URL(address).host, 404]);
    assert.ok(asked.length > 0);
    assert.ok(asked.every((headers) => !headers?.includes("traceparent") && !headers?.includes(trace)));
  } finally {
    issuer.closeAllConnections();
    issuer.close();
  }
});

test("a refused request is a span with its code, and only an internal failure is an error", async () => {
  const { url } = await traced();
  const answer = await callHttp(url, "GET", "/iam/v2/groups");
  const call = await receiver.find(({ spanId, kind }) => kind === 2 && idOf(answer.headers).endsWith(spanId));
  assert.deepEqual([call.attributes["gantry.code"], call.status], ["UNAUTHENTICATED", 0]);
});

test("a storage request is in the trace with kind and host, without the blob's owner", {
  skip: objectStorageMissing(),
}, async () => {
  const storage = await startObjectStorage();
  const stored = await openWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, GANTRY_BLOBS: storage.settingOf("traced/") });
  try {
    const client = openRegistryClient(stored.url, () => stored.token());
    const repo = "first-organization/traced";
    const digest = await client.pushBlob(repo, Buffer.from("the bytes of a layer"));
    const put = await receiver.find(({ name }) => name === "storage PutObject");
    assert.equal((await client.request("GET", `/v2/${repo}/blobs/${digest}`)).status, 200);
    const get = await receiver.find(({ name, attributes }) => name === "storage GetObject" && attributes["http.response.status_code"] === 200);
    for (const span of [put, get]) {
      assert.deepEqual(span.attributes, { "server.address": "127.0.0.1", "http.response.status_code": 200 });
      const spans = await receiver.trace(span.traceId, (found) => serverSpan(found) !== undefined);
      assert.equal(span.parentSpanId, serverSpan(spans)?.spanId);
    }
    await storage.stop();
    assert.equal((await client.request("GET", `/v2/${repo}/blobs/${digest}`)).status, 503);
    const refused = await receiver.find(({ name, status }) => name === "storage GetObject" && status === 2);
    assert.equal(refused.attributes["error.type"], "unreachable");
  } finally {
    await stored.close();
    await storage.stop();
  }
});
