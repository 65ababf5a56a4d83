import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { request as http1Request, type IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { test } from "node:test";
import { Fault, unauthenticated } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { UnreadCall } from "#kernel";
import { type Echo, openEcho } from "./echo.fixture.ts";

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: { code: number; message: string; details: Record<string, unknown>[] } & Record<string, unknown>;
}

interface Want {
  readonly verb?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

const got = (status: number, headers: IncomingHttpHeaders, text: string): Got => ({
  status,
  headers,
  text,
  json: text.startsWith("{") ? JSON.parse(text) : {},
});

const ask1 = (echo: Echo, path: string, { verb = "GET", headers = {}, body }: Want = {}): Promise<Got> =>
  new Promise((resolve, reject) => {
    const request = http1Request({ host: "127.0.0.1", port: echo.port, path, method: verb, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(got(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString())));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });

const ask2 = (echo: Echo, path: string, { verb = "GET", headers = {}, body }: Want = {}): Promise<Got> =>
  new Promise((resolve, reject) => {
    const session = connectHttp2(echo.url);
    session.on("error", reject);
    const stream = session.request({ ":path": path, ":method": verb, ...headers }, { endStream: body === undefined });
    let head: IncomingHttpHeaders & { ":status"?: number | undefined } = {};
    const chunks: Buffer[] = [];
    stream.on("response", (received) => (head = received));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve(got(head[":status"] ?? 0, head, Buffer.concat(chunks).toString()));
    });
    if (body !== undefined) stream.end(body);
  });

for (const [protocol, ask] of [
  ["HTTP/1.1", ask1],
  ["HTTP/2", ask2],
] as const) {
  test(`${protocol}: path, query, headers and body reach the kernel as one call`, async () => {
    await using echo = await openEcho();
    const answer = await ask(echo, "/iam/v2/groups/abc%2Fdef?updateMask=name&validateOnly=true", {
      verb: "PATCH",
      headers: {
        authorization: "Bearer t",
        "gantry-identity": "me",
        "idempotency-key": "k",
        "if-match": '"1"',
        "if-none-match": '"2"',
        "content-type": "application/merge-patch+json",
        "x-request-id": "mine",
      },
      body: '{"name":"new"}',
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers["x-content-type-options"], "nosniff");
    assert.match(String(answer.headers["x-request-id"]), /^[0-9a-f]{24}$/);
    assert.equal(Number(answer.headers["content-length"]), answer.text.length);
    const [call] = echo.calls;
    assert.ok(call);
    const { method, requestId, requestInUrl, origin, ...rest } = call;
    assert.equal(method.rpc, "UpdateGroup");
    assert.equal(requestId, answer.headers["x-request-id"]);
    assert.equal(origin().address, "127.0.0.1");
    assert.deepEqual(requestInUrl().group, { uid: "abc/def" });
    assert.deepEqual(rest, {
      request: { group: { name: "new", uid: "abc/def" }, updateMask: "name" },
      problems: [],
      bodyPaths: ["name"],
      authorization: "Bearer t",
      identity: "me",
      idempotencyKey: "k",
      validateOnly: true,
      ifMatch: '"1"',
      ifNoneMatch: '"2"',
      view: undefined,
      packing: undefined,
      content: undefined,
    });
  });

  test(`${protocol}: the URL of a call refused unread still names its resource`, async () => {
    const abouts: JsonObject[] = [];
    const authenticate = (call: UnreadCall): never => {
      abouts.push(call.requestInUrl());
      throw unauthenticated("authentication required");
    };
    await using echo = await openEcho({}, { authenticate });
    const refused = await ask(echo, "/iam/v2/groups/abc%2Fdef?updateMask=name&validateOnly=true&nonsense=1", { verb: "PATCH", body: "{" });
    assert.equal(refused.status, 401);
    assert.equal((await ask(echo, "/iam/v2/groups/abc", { verb: "DELETE" })).status, 401);
    assert.deepEqual(abouts, [{ group: { uid: "abc/def" }, updateMask: "name" }, { uid: "abc" }]);
  });

  test(`${protocol}: the beta segment is the same path`, async () => {
    await using echo = await openEcho();
    assert.equal((await ask(echo, "/iam/v2beta1/groups/abc")).status, 200);
    assert.equal(echo.calls[0]?.method.name, "chainguard.platform.iam.v2.GroupsService/GetGroup");
  });

  test(`${protocol}: a deletion is 200 without a body, and HEAD equals GET without its body`, async () => {
    await using echo = await openEcho();
    const gone = await ask(echo, "/iam/v2/groups/abc", { verb: "DELETE" });
    assert.deepEqual([gone.status, gone.text, gone.headers["content-length"], gone.headers["content-type"]], [200, "", "0", undefined]);
    const whole = await ask(echo, "/iam/v2/groups/abc");
    const head = await ask(echo, "/iam/v2/groups/abc", { verb: "HEAD" });
    assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", whole.headers["content-length"]]);
  });

  test(`${protocol}: an unchanged resource is 304 without a body`, async () => {
    await using echo = await openEcho();
    const fresh = await ask(echo, "/iam/v2/groups/etag");
    assert.equal(fresh.headers.etag, '"1"');
    const same = await ask(echo, "/iam/v2/groups/etag", { headers: { "if-none-match": '"1"' } });
    assert.deepEqual([same.status, same.text, same.headers.etag, same.headers["content-type"]], [304, "", '"1"', undefined]);
  });

  const refusals: [title: string, path: string, want: Want, status: number, code: number, domain: string][] = [
    ["an unknown path", "/nothing", {}, 404, 5, "platform"],
    ["an unknown path of a domain", "/registry/v2/nothing", {}, 404, 5, "registry"],
    ["a wrong verb", "/iam/v2/groups/x", { verb: "PUT" }, 405, 12, "iam"],
    ["a wrong verb beside the contract", "/healthz", { verb: "DELETE" }, 405, 12, "platform"],
    [
      "a preflight when no origin is named",
      "/iam/v2/groups",
      { verb: "OPTIONS", headers: { origin: "https://a.test", "access-control-request-method": "GET" } },
      405,
      12,
      "iam",
    ],
    ["what is not served of version 1", "/libraries/v1/entitlements", {}, 501, 12, "libraries"],
    ["a gRPC method without gRPC", "/chainguard.platform.iam.v2.GroupsService/GetGroup", { verb: "POST", body: "{}" }, 415, 3, "platform"],
    ["broken percent-encoding", "/iam/v2/groups/%zz", {}, 400, 3, "iam"],
    ["a strange content type", "/iam/v2/groups", { verb: "POST", headers: { "content-type": "text/xml" }, body: "{}" }, 415, 3, "iam"],
    ["a strange charset", "/iam/v2/groups", { verb: "POST", headers: { "content-type": "application/json; charset=latin1" }, body: "{}" }, 415, 3, "iam"],
    ["a compressed body", "/iam/v2/groups", { verb: "POST", headers: { "content-encoding": "gzip" }, body: "{}" }, 415, 3, "iam"],
    [
      "a body over 1 MiB that says so",
      "/iam/v2/groups",
      { verb: "POST", headers: { "content-length": String(2 ** 20 + 1) }, body: Buffer.alloc(2 ** 20 + 1, " ") },
      413,
      3,
      "iam",
    ],
    ["a URL over 8 KiB", `/iam/v2/groups?name=${"x".repeat(8192)}`, {}, 414, 3, "iam"],
    ["broken JSON", "/iam/v2/groups", { verb: "POST", body: "{" }, 400, 3, "iam"],
    ["JSON that is no object", "/iam/v2/groups", { verb: "POST", body: "[]" }, 400, 3, "iam"],
    ["JSON that is not UTF-8", "/iam/v2/groups", { verb: "POST", body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }, 400, 3, "iam"],
    ["JSON nested a hundred thousand deep", "/iam/v2/groups", { verb: "POST", body: `{"name":${"[".repeat(100_000)}${"]".repeat(100_000)}}` }, 400, 3, "iam"],
    ["an unknown field", "/iam/v2/groups", { verb: "POST", body: '{"nam":1}' }, 400, 3, "iam"],
    ["an unknown parameter", "/iam/v2/groups?nam=1", {}, 400, 3, "iam"],
    ["a parameter that cannot be decoded", "/iam/v2/groups?name=%zz", {}, 400, 3, "iam"],
    ["validateOnly that is neither", "/iam/v2/groups?validateOnly=maybe", { verb: "POST", body: "{}" }, 400, 3, "iam"],
    ["authentication required", "/iam/v2/groups/unauthenticated", {}, 401, 16, "iam"],
  ];
  for (const [title, path, want, status, code, domain] of refusals) {
    test(`${protocol}: ${title} is ${status} with an AIP-193 body`, async () => {
      await using echo = await openEcho();
      const answer = await ask(echo, path, want);
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.json.code, code);
      assert.equal(answer.json.details[0]?.["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
      assert.equal(answer.json.details[0]?.["domain"], `${domain}.example.test`);
      assert.ok(answer.headers["x-request-id"]);
      if (status === 405) assert.ok(answer.headers.allow);
      if (status === 401) assert.equal(answer.headers["www-authenticate"], "Bearer");
    });
  }

  test(`${protocol}: an internal fault is 500 with the request ID and without its cause`, async () => {
    const lines: string[] = [];
    await using echo = await openEcho({
      log: (event, facts) => lines.push(`${event} ${String((facts?.["cause"] as Error | undefined)?.message)} ${String(facts?.["requestId"])}`),
    });
    const answer = await ask(echo, "/iam/v2/groups/boom");
    assert.equal(answer.status, 500);
    assert.doesNotMatch(answer.text, /secret/);
    assert.deepEqual(answer.json.details[1], { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: answer.headers["x-request-id"] });
    assert.deepEqual(lines, [`fault a secret cause ${answer.headers["x-request-id"]}`]);
  });

  test(`${protocol}: a call that never ends is DEADLINE_EXCEEDED`, async () => {
    await using echo = await openEcho({ bounds: { callDeadlineMs: 20 } });
    const answer = await ask(echo, "/iam/v2/groups/never");
    assert.deepEqual([answer.status, answer.json.code], [504, 4]);
  });

  test(`${protocol}: curl's form bodies are read as JSON; without a body mapping they are parameters`, async () => {
    await using echo = await openEcho();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await ask(echo, "/iam/v2/groups/abc", { verb: "POST", headers, body: '{"name":"x"}' })).status, 200);
    await ask(echo, "/sts/exchange?aud=a", { verb: "POST", headers, body: "identity=i&cap=x&cap=y" });
    assert.deepEqual(
      echo.calls.map((call) => call.request),
      [
        { parent: "abc", group: { name: "x" } },
        { aud: ["a"], identity: "i", cap: ["x", "y"] },
      ],
    );
    const json = await ask(echo, "/sts/exchange", { verb: "POST", headers: { "content-type": "application/json" }, body: '{"aud":"a"}' });
    assert.equal(json.status, 400);
  });

  test(`${protocol}: a key that names a prototype is an unknown field`, async () => {
    await using echo = await openEcho();
    const answer = await ask(echo, "/iam/v2/groups?__proto__.x=1&constructor=2", { verb: "POST", body: '{"__proto__":{"name":"x"},"constructor":1}' });
    assert.equal(answer.status, 400);
    const violations = answer.json.details[1]?.["fieldViolations"] as { field: string }[];
    assert.deepEqual(violations.map(({ field }) => field).sort(), ["__proto__", "__proto__.x", "constructor", "constructor"]);
    assert.equal(({} as Record<string, unknown>)["name"], undefined);
  });

  test(`${protocol}: a body of GET or DELETE is ignored`, async () => {
    await using echo = await openEcho();
    assert.equal((await ask(echo, "/iam/v2/groups/abc", { body: "{nonsense" })).status, 200);
    assert.equal((await ask(echo, "/iam/v2/groups/abc", { verb: "DELETE", body: "{nonsense" })).status, 200);
  });
}

test("only listed origins get CORS headers, and responses vary by origin", async () => {
  await using echo = await openEcho({ corsOrigins: ["https://console.test/"] });
  const preflight = await ask1(echo, "/iam/v2/groups", {
    verb: "OPTIONS",
    headers: { origin: "https://console.test", "access-control-request-method": "POST" },
  });
  assert.deepEqual([preflight.status, preflight.headers["access-control-allow-origin"], preflight.text], [204, "https://console.test", ""]);
  assert.match(String(preflight.headers["access-control-allow-headers"]), /authorization/);
  const named = await ask1(echo, "/iam/v2/groups/abc", { headers: { origin: "https://console.test" } });
  assert.equal(named.headers["access-control-allow-origin"], "https://console.test");
  const failed = await ask1(echo, "/nothing", { headers: { origin: "https://console.test" } });
  assert.equal(failed.headers["access-control-allow-origin"], "https://console.test");
  const stranger = await ask1(echo, "/iam/v2/groups/abc", { headers: { origin: "https://evil.test" } });
  assert.deepEqual([stranger.headers["access-control-allow-origin"], stranger.headers.vary], [undefined, "origin"]);
});

test("a header with invalid characters is an internal fault, not a crash", async () => {
  await using echo = await openEcho({}, { serve: async () => ({ message: {}, headers: { "x-bad": "a\r\nset-cookie: b" } }) });
  for (const ask of [ask1, ask2]) {
    const answer = await ask(echo, "/ping/v2/ping");
    assert.ok(answer.headers["set-cookie"] === undefined);
  }
  assert.equal((await ask1(echo, "/ping/v2/ping")).status, 500);
});

test("the issuer's documents and the two health paths are open", async () => {
  await using echo = await openEcho();
  assert.equal((await ask1(echo, "/.well-known/openid-configuration")).json["issuer"], "https://issuer.test");
  assert.deepEqual((await ask1(echo, "/.well-known/jwks.json")).json["keys"], []);
  assert.equal((await ask1(echo, "/healthz")).status, 200);
  assert.equal((await ask1(echo, "/readyz")).status, 200);
  assert.equal(echo.calls.length, 0);
  await using away = await openEcho({}, { ready: async () => false });
  assert.equal((await ask1(away, "/readyz")).status, 503);
});

test("the token endpoint's responses and errors follow RFC 6749", async () => {
  await using echo = await openEcho();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const good = await ask1(echo, "/oauth/token", { verb: "POST", headers, body: "subject_token=good" });
  assert.deepEqual([good.status, good.json["token_type"]], [200, "Bearer"]);
  const bad = await ask1(echo, "/oauth/token", { verb: "POST", headers, body: "subject_token=bad" });
  assert.deepEqual([bad.status, bad.json["error"]], [400, "invalid_request"]);
  const json = await ask1(echo, "/oauth/token", { verb: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  assert.deepEqual([json.status, json.json["error"]], [415, "invalid_request"]);
  const large = await ask1(echo, "/oauth/token", { verb: "POST", headers, body: Buffer.alloc(2 ** 20 + 1, "a") });
  assert.deepEqual([large.status, large.json["error"]], [413, "invalid_request"]);
});

test("the memory of all request bodies together is bounded", async () => {
  await using echo = await openEcho({ bounds: { streamsMax: 1, bodyBytesMax: 1000 } });
  const halves: Promise<unknown>[] = [];
  const session = connectHttp2(echo.url);
  const first = session.request({ ":path": "/iam/v2/groups", ":method": "POST" });
  first.write(Buffer.alloc(900));
  halves.push(new Promise((resolve) => first.on("close", resolve)));
  await new Promise((resolve) => session.ping(resolve));
  const refused = await ask1(echo, "/iam/v2/groups", { verb: "POST", body: Buffer.alloc(900, " ") });
  assert.deepEqual([refused.status, refused.json.code], [503, 14]);
  first.close();
  await Promise.all(halves);
  await new Promise((resolve) => session.ping(resolve));
  session.close();
  assert.equal((await ask1(echo, "/iam/v2/groups/abc", { verb: "POST", body: "{}" })).status, 200);
});

const samples: [string, string | Buffer][] = [
  ["a trailing comma", '{"name":"x",}'],
  ["single quotes", "{'name':'x'}"],
  ["a comment", '{"name":"x"/**/}'],
  ["NaN", '{"name":NaN}'],
  ["a lone minus", '{"name":-}'],
  ["a leading zero", '{"name":012}'],
  ["a raw newline in a text", '{"name":"a\nb"}'],
  ["two values", "{}{}"],
  ["a NUL in a text", '{"name":"a\\u0000b"}'],
  ["a lone surrogate", '{"name":"\\ud800"}'],
  ["UTF-16", Buffer.from('{"name":"x"}', "utf16le")],
  ["only a byte order mark", Buffer.from([0xef, 0xbb, 0xbf])],
  ["an overlong slash", Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
];
test("invalid JSON is rejected with 400, never 5xx", async () => {
  await using echo = await openEcho();
  // The complete suite if available; otherwise the samples.
  const folder = new URL("../../../shared/data/conformance/json-test-suite/test_parsing/", import.meta.url);
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("n_")) : [];
  const all = [...samples, ...files.map((name) => [name, readFileSync(new URL(encodeURIComponent(name), folder))] as const)];
  for (const [title, body] of all) {
    if (body.length === 0) continue;
    const answer = await ask1(echo, "/iam/v2/groups/abc", { verb: "POST", body, headers: { "content-type": "application/json" } });
    assert.equal(answer.status, 400, `${title}: ${answer.text}`);
    assert.equal(answer.json.code, 3, title);
  }
});

test("problems of path, query and body are reported together", async () => {
  await using echo = await openEcho();
  const answer = await ask1(echo, "/iam/v2/groups/abc?bad=1&name=%zz", { verb: "PATCH", body: '{"odd":1,"name":2}' });
  const violations = answer.json.details[1]?.["fieldViolations"] as { field: string }[];
  assert.deepEqual(violations.map(({ field }) => field).sort(), ["bad", "name", "name", "odd"]);
});

test("a byte order mark before the JSON is skipped", async () => {
  await using echo = await openEcho();
  assert.equal((await ask1(echo, "/iam/v2/groups/abc", { verb: "POST", body: '\ufeff{"name":"x"}' })).status, 200);
  assert.deepEqual(echo.calls[0]?.bodyPaths, ["name"]);
});

test("a reply's own header replaces the default", async () => {
  await using echo = await openEcho({}, { serve: async () => ({ message: {}, headers: { "cache-control": "private", "gantry-page-restarted": "true" } }) });
  for (const ask of [ask1, ask2]) {
    const { headers } = await ask(echo, "/ping/v2/ping");
    assert.deepEqual([headers["cache-control"], headers["gantry-page-restarted"]], ["private", "true"]);
  }
});

test("a fault's own headers are part of the response", async () => {
  await using echo = await openEcho({}, { serve: () => Promise.reject(new Fault("ABORTED", "changed", { httpStatus: 412, headers: { etag: '"2"' } })) });
  const answer = await ask1(echo, "/iam/v2/groups/abc");
  assert.deepEqual([answer.status, answer.json.code, answer.headers.etag], [412, 10, '"2"']);
});
