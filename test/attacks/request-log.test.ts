// Attack 189: secrets in the request log, injected lines and labels, unbounded series.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { after, test } from "node:test";
import { isUid } from "#base/uid.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { callHttp, callOver } from "../client.ts";
import { openRequestLog } from "../request-log.ts";
import { openWorld } from "../world.ts";

const requests = openRequestLog();
const world = await openWorld({ GANTRY_REQUEST_LOG: "true" }, requests.log);
after(() => world.close());

const lineOf = async (headers: Headers | Readonly<Record<string, string>>) =>
  requests.of((headers instanceof Headers ? headers.get("x-request-id") : headers["x-request-id"]) ?? assert.fail());

test("attack 189: no token, query value, cookie, form or body is ever logged, whatever the result of the request", async () => {
  const secret = "s3cr3t-that-nobody-may-see";
  const token = await world.token();
  const asked: readonly (readonly [verb: string, path: string, headers: Record<string, string>, body?: string])[] = [
    ["GET", `/iam/v2/groups?page_token=${secret}`, { authorization: `Bearer ${token}` }],
    ["GET", "/iam/v2/groups", { authorization: `Bearer ${secret}` }],
    ["GET", `/${secret}`, { cookie: `session=${secret}`, "x-forwarded-for": secret, "user-agent": secret }],
    ["GET", `/iam/v2/groups/${secret}`, { authorization: `Bearer ${token}` }],
    ["GET", `/oauth/callback?code=${secret}&state=${secret}`, {}],
    ["POST", "/oauth/token", { "content-type": "application/x-www-form-urlencoded" }, `grant_type=refresh_token&refresh_token=${secret}`],
    ["POST", `/iam/v2/groups/${world.organization}`, { authorization: `Bearer ${token}` }, `{"name":"${secret}"}`],
    ["POST", "/mcp", { authorization: `Bearer ${token}` }, `{"jsonrpc":"2.0","id":1,"method":"${secret}"}`],
    ["GET", "/v2/token?account=a&service=b", { authorization: `Basic ${Buffer.from(`_token:${secret}`).toString("base64")}` }],
    ["GET", `/v2/${secret}/manifests/${secret}`, { authorization: `Bearer ${token}` }],
    ["GET", "/healthz", { traceparent: `00-${secret}`, tracestate: secret, baggage: secret, "x-request-id": secret }],
  ];
  for (const [method, path, headers, body] of asked) {
    const response = await fetch(`${world.url}${path}`, { method, headers, body: body ?? null, redirect: "manual" });
    await response.body?.cancel();
    await lineOf(response.headers);
  }
  await callOver("grpc", world.url, "chainguard.platform.iam.v2.GroupsService/ListGroups", { name: secret }, { token: secret });
  await callOver("grpc", world.url, "chainguard.platform.iam.v2.GroupsService/GetGroup", { uid: secret }, { token, headers: { "idempotency-key": secret } });
  assert.ok(!requests.text().includes(secret));
  assert.ok(!requests.text().includes(token));
});

test("attack 189: requested names appear only as the server's own route names, and path segments as uids", async () => {
  const known = new Set([...methods, ...version1].map(({ name }) => name));
  const session = connect(Number(new URL(world.url).port), "127.0.0.1");
  await once(session, "connect");
  session.destroy();
  for (let each = 0; each < 50; each++) {
    for (const path of [
      `/p${each}`,
      `/iam/v2/p${each}`,
      `/v2/p${each}/manifests/x`,
      `/docs/p${each}`,
      `/csaf/p${each}`,
      `/mcp/p${each}`,
      `/.well-known/p${each}`,
    ])
      await lineOf((await callHttp(world.url, each % 2 === 0 ? "GET" : "POST", path, { headers: { accept: "application/json" } })).headers);
  }
  const operations = new Set(requests.lines().map(({ operation }) => String(operation)));
  const others = [...operations].filter((name) => !known.has(name)).sort();
  assert.deepEqual(
    others.filter((name) => /p\d/.test(name)),
    [],
  );
  assert.ok(others.length < 20, others.join(" "));
  for (const { path } of requests.lines()) assert.ok(path === undefined || isUid(String(path)), String(path));
});

test("attack 189: a log entry is one line, whatever it contains", async () => {
  const { jsonLog } = await import("#base/log.ts");
  const { openCalls } = await import("#calls");
  const written: string[] = [];
  const calls = openCalls({ log: jsonLog((line) => void written.push(line)), logsRequests: true });
  const call = calls.begin("rest");
  call.path = `a\n{"event":"request"}\u2028\u001b[2J${"b".repeat(10_000)}`;
  calls.end(call, false);
  assert.equal(written.length, 1);
  assert.equal(written[0]?.trimEnd().split("\n").length, 1);
  assert.ok((written[0]?.length ?? 0) < 2_000);
});
