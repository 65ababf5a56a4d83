// Attacks that exhaust CPU, memory or time. The server cuts off or refuses the flooding client and keeps serving others.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { http, items } from "../story/protocols.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let token: string;

before(async () => {
  world = await openWorld();
  token = await world.token();
});
after(() => world?.close());

const served = async (): Promise<void> => {
  assert.equal((await http(world.url, "GET", "/iam/v2/roles?page_size=1", { token })).status, 200);
};

const violation = (body: JsonObject): unknown => {
  const [first] = items({ list: items(body, "details")[1]?.fieldViolations ?? [] }, "list");
  return first?.field;
};

test("attack 13: a list returns at most 200 rows, and a skip past the end returns an empty page", async () => {
  const most = await http(world.url, "GET", "/iam/v2/roles?page_size=2147483647", { token });
  assert.ok(items(most.body, "roles").length <= limits.pageSizeMax);
  for (const query of ["skip=2147483648", "skip=-1"]) {
    const { status, body } = await http(world.url, "GET", `/iam/v2/roles?${query}`, { token });
    assert.deepEqual([status, violation(body)], [400, "skip"], query);
  }
  for (const skip of [1000, 1_000_001, 2_147_483_647]) {
    const { status, body } = await http(world.url, "GET", `/iam/v2/roles?skip=${skip}`, { token });
    assert.deepEqual([status, body.roles, body.totalCount, body.skipped, body.nextPageToken], [200, [], most.body.totalCount, skip, undefined]);
  }
});

test("attack 13: a filter accepts at most a thousand uids", async () => {
  const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => index.toString(16).padStart(40, "0"));
  const many = await world.call("iam.RolesService/ListRoles", { uidp: { ids: ids(1001) } }, { token, protocol: "grpc" });
  assert.equal(many.code, 3);
  const fine = await world.call("iam.RolesService/ListRoles", { uidp: { ids: ids(1000) } }, { token, protocol: "grpc" });
  assert.equal(fine.code, 0);
});

test("attack 13: a uid with a hundred thousand levels is refused before it is parsed", async () => {
  const deep = `${"a".repeat(40)}${`/${"b".repeat(16)}`.repeat(100_000)}`;
  const before = process.memoryUsage().rss;
  for (const field of ["ancestorsOf", "descendantsOf", "childrenOf"]) {
    const { code } = await world.call("iam.RolesService/ListRoles", { uidp: { [field]: deep } }, { token, protocol: "grpc" });
    assert.equal(code, 3, field);
  }
  const listed = await world.call("iam.RolesService/ListRoles", { uidp: { ids: [deep] } }, { token, protocol: "grpc" });
  assert.equal(listed.code, 3);
  for (const [name, request] of [
    ["registry.ReposService/GetRepo", { uid: deep }],
    ["registry.ReposService/CreateRepo", { parent: deep, repo: { name: "deep" } }],
    ["iam.GroupsService/CreateGroup", { parent: deep, group: { name: "deep" } }],
  ] as const)
    assert.equal((await world.call(name, request, { token, protocol: "grpc" })).code, 3, name);
  assert.ok(process.memoryUsage().rss - before < 300 * 1024 * 1024, "the memory that it takes is bounded");
});

test("attack 13: groups nest only as deep as a uid allows, and the deepest can be found and deleted", async () => {
  let parent = world.organization;
  let refusal: JsonObject = {};
  const made: string[] = [];
  for (let depth = 1; depth <= 200; depth++) {
    const seen = await http(world.url, "POST", `/iam/v2/groups/${parent}`, { token, body: '{"name":"deeper"}' });
    if (seen.status !== 200) {
      assert.equal(seen.status, 400, seen.text);
      refusal = seen.body;
      break;
    }
    parent = String(seen.body.uid);
    made.push(parent);
  }
  assert.equal(violation(refusal), "parent");
  assert.ok(made.length >= 50, `${made.length} levels`);
  assert.equal((await http(world.url, "GET", `/iam/v2/groups/${parent}`, { token })).status, 200);
  const { body } = await http(world.url, "GET", `/iam/v2/groups?uidp.descendants_of=${world.organization}&page_size=1`, { token });
  assert.equal(body.totalCount, String(made.length));
  const repo = await http(world.url, "POST", `/registry/v2/repos/${made.at(-2)}`, { token, body: '{"name":"deep"}' });
  assert.equal(repo.status, 200, repo.text);
  assert.equal((await http(world.url, "DELETE", `/registry/v2/repos/${String(repo.body.uid)}`, { token })).status, 200);
  for (const uid of made.reverse()) assert.equal((await http(world.url, "DELETE", `/iam/v2/groups/${uid}`, { token })).status, 200);
});

test("attack 13: a request with thousands of errors gets the first hundred, quickly", async () => {
  const count = (details: readonly JsonObject[]): number => items({ list: details[1]?.fieldViolations ?? [] }, "list").length;
  const body = JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`k${index}`, 1])));
  const rest = await http(world.url, "POST", `/registry/v2/repos/${world.organization}`, { token, body });
  assert.deepEqual([rest.status, count(items(rest.body, "details"))], [400, limits.violationsMax]);
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "mistakes" } });
  const updateMask = Array.from({ length: 300_000 }, (_, index) => `k${index}`).join(",");
  const started = performance.now();
  const rpc = await world.call("registry.ReposService/UpdateRepo", { repo: { uid: String(uid) }, updateMask }, { token, protocol: "grpc" });
  assert.equal(rpc.code, 3);
  assert.ok(count(rpc.details) > 0 && count(rpc.details) <= limits.violationsMax);
  // Repacking all errors each time took minutes.
  assert.ok(performance.now() - started < 10_000);
  const form = { body: "a=1&".repeat(9_000), headers: { "content-type": "application/x-www-form-urlencoded" } };
  const exchange = await http(world.url, "POST", "/sts/exchange", { token, ...form });
  assert.deepEqual([exchange.status, count(items(exchange.body, "details"))], [400, limits.violationsMax]);
  assert.equal((await http(world.url, "POST", "/oauth/token", { token, ...form })).status, 400);
});

test("attack 13: callers who hang up during lists leave the server responsive", async () => {
  const port = Number(new URL(world.url).port);
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(`GET /iam/v2/roles?page_size=200 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
      socket.destroy();
    }),
  );
  await served();
});

test("attack 13: a gRPC deadline ends a request that cannot finish in time", async () => {
  const { code } = await world.call("iam.RolesService/ListRoles", {}, { token, protocol: "grpc", headers: { "grpc-timeout": "1n" } });
  assert.equal(code, 4);
  await served();
});

test("attack 29: rapid resets close their connection, and other clients are served", async () => {
  const session = connectHttp2(world.url);
  session.on("error", () => {});
  await once(session, "connect");
  const ended = new Promise<void>((resolve) => void session.once("close", resolve));
  let opened = 0;
  // The client runs ahead of the server's responses on a busy machine, so this bound only catches a server that never cuts off.
  const most = 500 * limits.streamResetsMax;
  const storm = (): void => {
    for (let index = 0; index < 200 && !session.closed && !session.destroyed; index++) {
      const stream = session.request({ ":path": "/healthz" });
      stream.on("error", () => {});
      stream.close(8);
      opened++;
    }
    if (opened >= most) session.destroy(new Error(`not cut after ${opened} streams`));
    if (!session.closed && !session.destroyed) setImmediate(storm);
  };
  storm();
  await ended;
  assert.ok(opened < most, `not cut after ${opened} streams`);
  await served();
});

test("attack 29: headers over 16 KiB return 431 with an error body over HTTP/1.1 and HTTP/2", async () => {
  const heavy = "x".repeat(limits.headerBytesMax + 1024);
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  socket.on("error", () => {});
  socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nx-heavy: ${heavy}\r\n\r\n`);
  await once(socket, "close");
  assert.match(heard, /^HTTP\/1\.1 431 /);
  assert.match(heard, /"code":3/);
  const session = connectHttp2(world.url);
  const stream = session.request({ ":path": "/healthz", "x-heavy": heavy });
  const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
  assert.equal(answer[":status"], 431);
  session.destroy();
  await served();
});

test("attack 29: oversized, compressed or wrongly typed bodies are refused before they are read", async () => {
  const cases: readonly (readonly [headers: Record<string, string>, body: string, status: number])[] = [
    [{}, "x".repeat(limits.bodyBytesMax + 1), 413],
    [{ "content-encoding": "gzip" }, "{}", 415],
    [{ "content-type": "text/xml" }, "<a/>", 415],
    [{ "content-type": "application/json; charset=utf-16" }, "{}", 415],
    [{ "content-type": "multipart/form-data; boundary=x" }, "--x--", 415],
  ];
  for (const [headers, body, status] of cases) {
    const seen = await http(world.url, "POST", `/registry/v2/repos/${world.organization}`, { token, body, headers });
    assert.deepEqual([seen.status, seen.body.code], [status, 3], JSON.stringify(headers));
  }
  await served();
});

test("attack 29: gRPC frames with a false length or an oversized decompressed payload are refused", async () => {
  const session = connectHttp2(world.url);
  const call = async (bytes: Buffer, headers: Record<string, string> = {}): Promise<string> => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/chainguard.platform.iam.v2.RolesService/ListRoles",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
      ...headers,
    });
    stream.on("error", () => {});
    stream.end(bytes);
    const [answer] = (await once(stream, "response")) as [Record<string, string>];
    stream.resume();
    if (answer["grpc-status"] !== undefined) return String(answer["grpc-status"]);
    const [trailers] = (await once(stream, "trailers")) as [Record<string, string>];
    return String(trailers["grpc-status"]);
  };
  const frame = (length: number, body: Buffer, flag = 0): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = flag;
    head.writeUInt32BE(length, 1);
    return Buffer.concat([head, body]);
  };
  assert.equal(await call(frame(100, Buffer.alloc(5))), "3", "shorter than it says");
  assert.equal(await call(frame(0xffffffff, Buffer.alloc(5))), "8", "longer than may be");
  assert.equal(await call(frame(4, Buffer.from("nope"), 1)), "3", "packed without a name");
  assert.equal(await call(frame(4, Buffer.from("nope"), 1), { "grpc-encoding": "gzip" }), "3", "no gzip");
  assert.equal(await call(frame(3, Buffer.from([0xff, 0xff, 0xff]))), "3", "no message");
  assert.equal(await call(Buffer.alloc(0)), "12", "no message at all");
  assert.equal(await call(frame(0, Buffer.alloc(0))), "0");
  session.destroy();
  await served();
});

const guarded = "/registry/v2/repos/";

/** Returns the status of a request without its body; over gRPC, the grpc-status. */
const unfinished = {
  "HTTP/1.1": async (authorization: string | undefined): Promise<string> => {
    const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
    const header = authorization === undefined ? "" : `authorization: ${authorization}\r\n`;
    socket.write(`POST ${guarded}${world.organization} HTTP/1.1\r\nhost: x\r\n${header}content-length: 100\r\n\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    return answer.toString().split(" ")[1] ?? "";
  },
  "HTTP/2": async (authorization: string | undefined): Promise<string> => {
    const session = connectHttp2(world.url);
    const stream = session.request({
      ":method": "POST",
      ":path": `${guarded}${world.organization}`,
      ...(authorization === undefined ? {} : { authorization }),
    });
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    session.destroy();
    return String(answer[":status"]);
  },
  gRPC: async (authorization: string | undefined): Promise<string> => {
    const session = connectHttp2(world.url);
    const stream = session.request({
      ":method": "POST",
      ":path": "/chainguard.platform.registry.v2.ReposService/CreateRepo",
      "content-type": "application/grpc",
      te: "trailers",
      ...(authorization === undefined ? {} : { authorization }),
    });
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    session.destroy();
    return String(answer["grpc-status"]);
  },
} as const;

for (const [protocol, refused] of [
  ["HTTP/1.1", "401"],
  ["HTTP/2", "401"],
  ["gRPC", "16"],
] as const)
  test(`attack 13: ${protocol}: a request without a valid token is refused immediately, before its body arrives`, async () => {
    const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: world.organization,
      identity: { name: "gone", claimMatch: { issuer: "https://issuer.example.com", subject: protocol } },
    });
    const gone = await world.token(String(uid));
    await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: String(uid) });
    const started = performance.now();
    for (const authorization of [undefined, "Bearer garbage", `Bearer ${token.slice(0, -4)}AAAA`, "Basic b3BlcmF0b3I6", `Bearer ${gone}`])
      assert.equal(await unfinished[protocol](authorization), refused, authorization);
    assert.ok(performance.now() - started < limits.requestTimeoutMs / 2, "nobody waited for a body");
  });

test("attack 13: the body of a request without a valid token is never parsed, decompressed or measured", async () => {
  const bodies: readonly (readonly [body: string, headers?: Record<string, string>])[] = [
    ["{"],
    [""],
    ["[]"],
    ['{"nonsense":1}'],
    ["x".repeat(limits.bodyBytesMax + 1)],
    ["\ufffd", { "content-type": "application/x-www-form-urlencoded" }],
  ];
  for (const [body, headers] of bodies)
    for (const bad of [undefined, "garbage"]) {
      const seen = await http(world.url, "POST", `${guarded}${world.organization}`, { token: bad, body, ...(headers ? { headers } : {}) });
      assert.deepEqual([seen.status, seen.body.code], [401, 16], body.slice(0, 20));
    }
  const session = connectHttp2(world.url);
  for (const bytes of [Buffer.from([1, 0, 0, 0, 1, 0]), Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), Buffer.alloc(0), Buffer.from([0, 0, 0, 0, 1, 0xff])]) {
    const stream = session.request({
      ":method": "POST",
      ":path": "/chainguard.platform.registry.v2.ReposService/CreateRepo",
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.end(bytes);
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(answer["grpc-status"], "16");
    stream.resume();
  }
  session.destroy();
  await served();
});

test("attack 13: an oversized upload without a token is refused while it is sent, and other clients are served", async () => {
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  socket.on("error", () => {});
  const answered = once(socket, "data") as Promise<[Buffer]>;
  socket.write(`POST ${guarded}${world.organization} HTTP/1.1\r\nhost: x\r\ncontent-length: ${1024 * limits.bodyBytesMax}\r\n\r\n`);
  const [answer] = await answered;
  assert.match(answer.toString(), /^HTTP\/1\.1 401 /);
  for (let turn = 0; turn < 8; turn++) socket.write(Buffer.alloc(limits.bodyBytesMax));
  await served();
  socket.destroy();
});

test("attack 13: a public operation still works without a token", async () => {
  assert.equal((await http(world.url, "POST", "/sts/exchange", { body: "x", headers: { "content-type": "application/json" } })).status, 400);
  assert.equal((await http(world.url, "POST", "/sts/exchange", { body: "x".repeat(limits.bodyBytesMax + 1) })).status, 413);
});
