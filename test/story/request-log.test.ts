// The request log: if enabled, one line for each request, including refused, aborted and streamed ones, with wait and work times.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { after, test } from "node:test";
import { callHttp } from "../client.ts";
import { openPusher } from "../pusher.ts";
import { layerType } from "../registry.ts";
import { openRequestLog } from "../request-log.ts";
import { openWorld } from "../world.ts";

const requests = openRequestLog();
const world = await openWorld({ GANTRY_REQUEST_LOG: "true" }, requests.log);
after(() => world.close());

const idOf = (headers: Readonly<Record<string, string>>): string => headers["x-request-id"] ?? assert.fail("no x-request-id");

test("a request has one line with caller, operation, resource, result and times", async () => {
  const answer = await callHttp(world.url, "GET", `/iam/v2/groups?uidp.descendants_of=${world.organization}`, { token: await world.token() });
  const line = await requests.of(idOf(answer.headers));
  const { turnMs, databaseWaitMs, databaseMs, answerMs, ms, ...rest } = line;
  assert.deepEqual(rest, {
    requestId: idOf(answer.headers),
    protocol: "rest",
    operation: "chainguard.platform.iam.v2.GroupsService/ListGroups",
    caller: rest.caller,
    path: world.organization,
    code: "OK",
    status: 200,
    receivedBytes: 0,
    sentBytes: Buffer.byteLength(answer.raw),
    statements: rest.statements,
  });
  assert.match(String(rest.caller), /^[0-9a-f]{40}$/);
  assert.ok(Number(rest.statements) > 0);
  for (const time of [turnMs, databaseWaitMs, databaseMs, answerMs, ms]) assert.ok(typeof time === "number" && time >= 0);
  assert.ok(Number(databaseMs) > 0 && Number(ms) >= Number(answerMs));
});

test("a write's line counts its statements with the commit, and the bytes of its body", async () => {
  const body = JSON.stringify({ name: "logged" });
  const answer = await callHttp(world.url, "POST", `/iam/v2/groups/${world.organization}`, { token: await world.token(), body });
  const line = await requests.of(idOf(answer.headers));
  assert.deepEqual([answer.code, line.path, line.receivedBytes], [0, world.organization, Buffer.byteLength(body)]);
  assert.ok(Number(line.statements) >= 3, `a row, its event and the commit: ${String(line.statements)}`);
});

test("a refused request has a line, with the caller if the token is valid, the reason and the quota", async () => {
  const unknown = await requests.of(idOf((await callHttp(world.url, "GET", `/iam/v2/groups/${world.organization}`)).headers));
  assert.deepEqual([unknown.code, unknown.status, unknown.caller, unknown.path], ["UNAUTHENTICATED", 401, undefined, world.organization]);
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "nobody", claimMatch: { issuer: "https://issuer.example.com", subject: "nobody" } },
  });
  const refused = await callHttp(world.url, "GET", `/iam/v2/groups/${world.organization}`, { token: await world.token(String(uid)) });
  const line = await requests.of(idOf(refused.headers));
  assert.deepEqual([line.code, line.status, line.caller, line.path], ["PERMISSION_DENIED", 403, uid, world.organization]);
});

test("a request of version 1 has a line under its version 1 name", async () => {
  const answer = await callHttp(world.url, "GET", "/iam/v1/groups", { token: await world.token() });
  assert.equal((await requests.of(idOf(answer.headers))).operation, "chainguard.platform.iam.Groups/List");
});

const layer = Buffer.alloc(24 * 1024 * 1024, 7);

test("a streamed response has a line at its end with all bytes; an aborted one has the bytes sent and is marked as cut", async () => {
  const pusher = openPusher(world, `${String((await world.ok("iam.GroupsService/GetGroup", { uid: world.organization })).name)}/layers`, await world.token());
  const { digest } = await pusher.blob(layer, layerType);
  const put = await requests.find(({ protocol, receivedBytes }) => protocol === "oci" && receivedBytes === layer.length);
  assert.deepEqual([put.code, put.status], ["OK", 201]);
  const whole = await pusher.send("GET", `blobs/${digest}`);
  assert.equal((await whole.arrayBuffer()).byteLength, layer.length);
  const line = await requests.of(whole.headers.get("x-request-id") ?? "");
  assert.deepEqual([line.code, line.sentBytes, line.cut], ["OK", layer.length, undefined]);
  const left = await pusher.send("GET", `blobs/${digest}`);
  const reader = left.body?.getReader() ?? assert.fail();
  await reader.read();
  assert.ok(!requests.lines().some(({ requestId }) => requestId === left.headers.get("x-request-id")), "it is not over yet");
  await reader.cancel();
  const cut = await requests.of(left.headers.get("x-request-id") ?? "");
  assert.deepEqual([cut.code, cut.status, cut.cut], ["CANCELLED", 200, true]);
  assert.ok(Number(cut.sentBytes) < layer.length);
});

test("an aborted request has a line: during a body, with two requests on one connection, or in an HTTP/2 stream", async () => {
  const { hostname, port } = new URL(world.url);
  const token = await world.token();
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = (path: string): string => `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\ncontent-length: 100\r\n\r\n{"name`;
  socket.write(head(`/iam/v2/groups/${world.organization}`));
  const parentOf = requests.lines().length;
  // A later response means that the server has begun to read.
  await callHttp(world.url, "GET", "/healthz");
  socket.destroy();
  const line = await requests.find((each) => requests.lines().indexOf(each) >= parentOf && each.protocol === "rest");
  assert.deepEqual([line.operation, line.code, line.cut], ["chainguard.platform.iam.v2.GroupsService/CreateGroup", "CANCELLED", true]);

  const pipelined = connect(Number(port), hostname);
  await once(pipelined, "connect");
  const before = requests.lines().length;
  pipelined.write(`${head(`/iam/v2/groups/${world.organization}`)}": "a", "description": "${"x".repeat(70)}"}`);
  pipelined.write(`GET /.well-known/jwks.json HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  pipelined.destroy();
  await callHttp(world.url, "GET", "/readyz");
  const seen = requests.lines().slice(before);
  assert.equal(new Set(seen.map(({ requestId }) => requestId)).size, seen.length);

  const session = connectHttp2(world.url);
  const stream = session.request({ ":method": "POST", ":path": `/iam/v2/roles/${world.organization}`, authorization: `Bearer ${token}` });
  stream.write('{"name');
  stream.on("error", () => {});
  await callHttp(world.url, "GET", "/healthz");
  session.destroy();
  const reset = await requests.find(({ operation }) => operation === "chainguard.platform.iam.v2.RolesService/CreateRole");
  assert.deepEqual([reset.code, reset.cut], ["CANCELLED", true]);
});

test("a response sent before the end of its request is whole, over HTTP/1.1 and HTTP/2", async () => {
  const path = `/iam/v2/groups/${world.organization}`;
  const session = connectHttp2(world.url);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
  stream.on("error", () => {});
  stream.write("{");
  const [headers] = (await once(stream, "response")) as [Record<string, string>];
  stream.resume();
  const overHttp2 = await requests.of(idOf(headers));
  session.destroy();
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n{`);
  let received = "";
  for await (const chunk of socket) {
    received += String(chunk);
    if (received.includes("UNAUTHENTICATED")) socket.end();
  }
  const overHttp1 = await requests.of(/x-request-id: (\w+)/.exec(received)?.[1] ?? "");
  for (const { code, status, cut, sentBytes } of [overHttp1, overHttp2])
    assert.deepEqual([code, status, cut, Number(sentBytes) > 0], ["UNAUTHENTICATED", 401, undefined, true]);
});

test("a request that cannot be parsed has a line", async () => {
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  socket.end("GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  const line = await requests.of(/x-request-id: (\w+)/.exec(text)?.[1] ?? "");
  assert.deepEqual([line.operation, line.code, line.status], ["unknown", "INVALID_ARGUMENT", 400]);
});

test("no request is in flight after all responses", async () => {
  const { calls } = world.server;
  // Each response follows everything that ended before it.
  for (let tries = 0; calls.inFlight() !== 0 && tries < 100; tries++) await callHttp(world.url, "GET", "/healthz");
  assert.equal(calls.inFlight(), 0);
});

test("without the setting there are no lines", async () => {
  const none = openRequestLog();
  const quiet = await openWorld({}, none.log);
  await callHttp(quiet.url, "GET", "/healthz");
  await callHttp(quiet.url, "GET", "/iam/v2/groups");
  await quiet.close();
  assert.deepEqual(none.lines(), []);
});
