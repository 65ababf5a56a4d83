import assert from "node:assert/strict";
import { once } from "node:events";
import { request as http1Request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { BlockList, connect } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { Origin, RequestSource } from "#base/origin.ts";
import { create, toBinary } from "@bufbuild/protobuf";
import { limits } from "#base/limits.ts";
import { GetGroupRequestSchema } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { type Echo, openEcho } from "./echo.fixture.ts";
import { frameMessage } from "./frames.ts";
import type { IssuerEndpoints } from "./issuer-endpoints.ts";
import { localhost } from "./localhost.fixture.ts";
import { originReader } from "./origin.ts";

const proxies = new BlockList();
proxies.addSubnet("10.0.0.0", 8, "ipv4");
proxies.addAddress("2001:db8::1", "ipv6");

const walks: readonly (readonly [title: string, peer: string, forwarded: string | string[] | undefined, address: string])[] = [
  ["no header", "10.0.0.1", undefined, "10.0.0.1"],
  ["an empty header", "10.0.0.1", "", "10.0.0.1"],
  ["one client", "10.0.0.1", "203.0.113.7", "203.0.113.7"],
  ["a client through two proxies", "10.0.0.1", "203.0.113.7, 10.0.0.2", "203.0.113.7"],
  ["what the client claims of itself", "10.0.0.1", "192.0.2.66, 203.0.113.7", "203.0.113.7"],
  ["what the client claims of a proxy", "10.0.0.1", "192.0.2.66, 10.0.0.9, 203.0.113.7, 10.0.0.2", "203.0.113.7"],
  ["a peer that is no proxy", "203.0.113.7", "192.0.2.66", "203.0.113.7"],
  ["a peer that is no proxy and names one", "203.0.113.7", "192.0.2.66, 10.0.0.1", "203.0.113.7"],
  ["proxies alone: the outermost", "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
  ["no address at the right end", "10.0.0.1", "203.0.113.7, unknown", "10.0.0.1"],
  ["no address behind a proxy", "10.0.0.1", "203.0.113.7, _hidden, 10.0.0.2", "10.0.0.2"],
  ["an empty entry", "10.0.0.1", "203.0.113.7,", "10.0.0.1"],
  ["a port is no part of an address", "10.0.0.1", "203.0.113.7:4711", "203.0.113.7"],
  ["ports of proxies, too", "10.0.0.1", "192.0.2.66, 203.0.113.7:4711, 10.0.0.2:80", "203.0.113.7"],
  ["IPv6 in brackets, with a port", "10.0.0.1", "[2001:db8::2]:4711", "2001:db8::2"],
  ["IPv6 in brackets", "10.0.0.1", "[2001:db8::2]", "2001:db8::2"],
  ["brackets around nothing", "10.0.0.1", "203.0.113.7, []:80", "10.0.0.1"],
  ["an address and what is no port", "10.0.0.1", "203.0.113.7:http", "10.0.0.1"],
  ["a shortened address is none", "10.0.0.1", "203.113", "10.0.0.1"],
  ["without and with much space", "10.0.0.1", "203.0.113.7 ,\t10.0.0.2  ", "203.0.113.7"],
  ["several headers are one list", "10.0.0.1", ["192.0.2.66", "203.0.113.7"], "203.0.113.7"],
  ["IPv6 in one spelling", "2001:db8::1", "2001:DB8:0:0::2", "2001:db8::2"],
  ["IPv6 with a zone", "10.0.0.1", "fe80::1%eth0", "fe80::1"],
  ["a proxy in another spelling", "2001:db8::1", "203.0.113.7, 2001:0DB8:0::1", "203.0.113.7"],
  ["a mapped proxy", "::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"],
  ["mapped addresses in the header", "10.0.0.1", "::ffff:203.0.113.7, ::FFFF:0A00:0002", "203.0.113.7"],
];
for (const [title, peer, forwarded, address] of walks) {
  test(`X-Forwarded-For, ${title}: ${address}`, () => {
    const headers = { "x-forwarded-for": forwarded };
    assert.equal(originReader(proxies, 256)(peer, headers).address, address);
  });
}

test("without trusted proxies, X-Forwarded-For is ignored", () => {
  for (const none of [undefined, new BlockList()]) {
    for (const [, peer, forwarded] of walks)
      assert.deepEqual(originReader(none, 256)(peer, { "x-forwarded-for": forwarded }), originReader(none, 256)(peer, {}));
  }
});

const peers: readonly (readonly [told: string, address: string])[] = [
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::ffff:1:2:3", "::ffff:1:2:3"],
  ["::1", "::1"],
  ["2001:db8::2", "2001:db8::2"],
  ["fe80::1%eth0", "fe80::1"],
  ["", ""],
];
for (const [told, address] of peers) {
  test(`the socket address ${JSON.stringify(told)} is ${JSON.stringify(address)}`, () => assert.equal(originReader(proxies, 256)(told, {}).address, address));
}

const agents: readonly (readonly [title: string, told: string | undefined, userAgent: string])[] = [
  ["none", undefined, ""],
  ["an ordinary one", "curl/8.5.0", "curl/8.5.0"],
  ["as long as it may be", "x".repeat(256), "x".repeat(256)],
  ["longer", `${"x".repeat(256)}y`, "x".repeat(256)],
  ["control characters", "a\tb\u001b[31mc\u0085\u009b\u0000\u007f", "a\ufffdb\ufffd[31mc\ufffd\ufffd\ufffd\ufffd"],
  ["letters beyond ASCII", "müller/1", "müller/1"],
  ["a character that the cut halves", `${"x".repeat(255)}😀`, `${"x".repeat(255)}\ufffd`],
];
for (const [title, told, userAgent] of agents) {
  test(`User-Agent, ${title}`, () => assert.equal(originReader(undefined, 256)("203.0.113.7", { "user-agent": told }).userAgent, userAgent));
}

type Sent = Readonly<Record<string, string>>;
type Way = (echo: Echo, headers: Sent) => Promise<void>;

const http1: Way = async (echo, headers) => {
  const request = http1Request(`${echo.url}/iam/v2/groups/abc`, { headers, agent: false }).end();
  const [response] = await once(request, "response");
  response.resume();
  await once(response, "end");
};

const http2 =
  (send: { readonly path: string; readonly headers: Sent; readonly body?: Buffer }): Way =>
  async (echo, headers) => {
    const session = connectHttp2(echo.url);
    const stream = session.request({ ":path": send.path, ":method": send.body ? "POST" : "GET", ...send.headers, ...headers });
    stream.end(send.body);
    stream.resume();
    await once(stream, "close");
    session.close();
  };

const getGroup = {
  path: "/chainguard.platform.iam.v2.GroupsService/GetGroup",
  headers: { "content-type": "application/grpc", te: "trailers" },
  body: frameMessage(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: "abc" }))),
};

const ways: readonly (readonly [title: string, way: Way])[] = [
  ["REST over HTTP/1.1", http1],
  ["REST over HTTP/2", http2({ path: "/iam/v2/groups/abc", headers: {} })],
  ["gRPC", http2(getGroup)],
];

const localProxy = new BlockList();
localProxy.addAddress("127.0.0.1", "ipv4");

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === "IPv6"));

for (const [title, way] of ways) {
  test(`${title}: a call has its client's address and agent`, async () => {
    await using echo = await openEcho();
    await way(echo, { "user-agent": "caller/1", "x-forwarded-for": "203.0.113.7" });
    await way(echo, {});
    await way(echo, { "user-agent": "x".repeat(2000) });
    assert.deepEqual(
      echo.calls.map((call): Origin => call.origin()),
      [
        { address: "127.0.0.1", userAgent: "caller/1" },
        { address: "127.0.0.1", userAgent: "" },
        { address: "127.0.0.1", userAgent: "x".repeat(limits.userAgentLengthMax) },
      ],
    );
  });

  test(`${title}: a call through a trusted proxy has its client's address`, async () => {
    await using echo = await openEcho({ trustedProxies: localProxy });
    await way(echo, { "x-forwarded-for": "192.0.2.66, 203.0.113.7" });
    assert.deepEqual(
      echo.calls.map((call) => call.origin().address),
      ["203.0.113.7"],
    );
  });

  test(`${title}: a listener on all addresses reports IPv4 addresses as IPv4`, { skip: !hasIpv6 && "no IPv6 here" }, async () => {
    await using echo = await openEcho({ host: "::" });
    await way(echo, {});
    assert.equal(echo.calls[0]?.origin().address, "127.0.0.1");
  });

  test(`${title}: a call keeps its address after its connection closed`, async () => {
    const echo = await openEcho();
    await way(echo, {});
    await echo.close();
    assert.equal(echo.calls[0]?.origin().address, "127.0.0.1");
  });
}

const hello = "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/** Waits for the first call. */
const called = async (echo: Echo): Promise<void> => {
  while (echo.calls.length === 0) await pause(1);
};

for (const tls of [undefined, localhost]) {
  const over = tls ? "TLS" : "clear text";
  const open = (echo: Echo, protocol: string) =>
    tls ? connectTls({ host: "127.0.0.1", port: echo.port, rejectUnauthorized: false, ALPNProtocols: [protocol] }) : connect(echo.port, "127.0.0.1");

  test(`HTTP/1.1 over ${over}: a client that writes and disconnects at once has an address`, async () => {
    const echo = await openEcho(tls ? { tls } : {});
    const socket = open(echo, "http/1.1");
    socket.on("error", () => {});
    await once(socket, tls ? "secureConnect" : "connect");
    socket.write(hello, () => socket.destroy());
    await called(echo);
    await echo.close();
    assert.equal(echo.calls[0]?.origin().address, "127.0.0.1");
  });

  for (const [title, path, headers, body] of [
    ["REST", "/iam/v2/groups", {}, Buffer.from("{}")],
    ["gRPC", getGroup.path, getGroup.headers, getGroup.body],
  ] as const) {
    test(`${title} on HTTP/2 over ${over}: a client that writes and disconnects at once has an address`, async () => {
      // Read during the call, after its session closed.
      const asked = Promise.withResolvers<string>();
      const echo = await openEcho(tls ? { tls } : {}, {
        serve: async (call) => {
          if (tls) socket.destroy();
          else socket.resetAndDestroy();
          asked.resolve(pause(50).then(() => call.origin().address));
          return { message: {} };
        },
      });
      const socket = open(echo, "h2");
      socket.on("error", () => {});
      await once(socket, tls ? "secureConnect" : "connect");
      const session = connectHttp2(echo.url, { createConnection: () => socket });
      session.on("error", () => {});
      const stream = session.request({ ":path": path, ":method": "POST", ...headers });
      stream.on("error", () => {});
      stream.end(body);
      assert.equal(await asked.promise, "127.0.0.1");
      await echo.close();
      assert.equal(echo.calls[0]?.origin().address, "127.0.0.1");
    });
  }
}

test("a connection that is reset before it is accepted makes no call without an address", async () => {
  const echo = await openEcho();
  for (let turn = 0; turn < 40; turn++) {
    const socket = connect(echo.port, "127.0.0.1");
    socket.on("error", () => {});
    // Both in the tick that connects: the server, in the same process, sees the connection later.
    socket.on("connect", () => {
      socket.write(hello);
      socket.resetAndDestroy();
    });
    await once(socket, "close");
  }
  await http1(echo, {});
  await echo.close();
  assert.deepEqual([...new Set(echo.calls.map((call) => call.origin().address))], ["127.0.0.1"]);
});

test("paths outside the contract receive the origin and the request ID", async () => {
  const told: RequestSource[] = [];
  const keep = async (from: RequestSource): Promise<{ status: number; headers: Sent; body: string }> => {
    told.push({ origin: from.origin, requestId: from.requestId });
    return { status: 200, headers: {}, body: "" };
  };
  const issuer: IssuerEndpoints = {
    discovery: () => ({}),
    authorizationServer: () => ({}),
    keys: async () => ({}),
    exchangeToken: async (_form, _authorization, from) => ({ status: (await keep(from)).status }),
    registryToken: async () => ({ token: "a token" }),
    revoke: async (_form, from) => ({ status: (await keep(from)).status }),
    beginDevice: async (_form, from) => ({ status: (await keep(from)).status }),
    endpoints: new Map([["/shown", { GET: keep, POST: keep }]]),
  };
  await using echo = await openEcho({ trustedProxies: localProxy }, { issuer });
  const ids: (string | null)[] = [];
  for (const [path, method] of [
    ["/oauth/token", "POST"],
    ["/oauth/device_authorization", "POST"],
    ["/shown", "GET"],
    ["/shown", "POST"],
  ] as const) {
    const answer = await fetch(`${echo.url}${path}`, {
      method,
      headers: { "user-agent": "browser/1", "x-forwarded-for": "203.0.113.7" },
      ...(method === "POST" ? { body: new URLSearchParams({ a: "b" }) } : {}),
    });
    assert.equal(answer.status, 200);
    ids.push(answer.headers.get("x-request-id"));
  }
  assert.deepEqual(
    told,
    ids.map((requestId) => ({ origin: { address: "203.0.113.7", userAgent: "browser/1" }, requestId })),
  );
});
