import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get as http1Get } from "node:http";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { Fault } from "#base/fault.ts";
import type { Reply } from "#kernel";
import { connectRaw, type Echo, exchangeRaw, openEcho } from "./echo.fixture.ts";
import { localhost } from "./localhost.fixture.ts";

const hello = "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\n\r\n";
const statuses = (received: string): string[] => [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1] ?? "");

/** Returns a stream's HTTP/2 status, or the error that ended it. */
const status2 = async (session: ClientHttp2Session, path: string): Promise<number | string> => {
  const stream = session.request({ ":path": path });
  stream.resume();
  try {
    const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
    return headers[":status"] ?? 0;
  } catch (error) {
    return error instanceof Error ? error.message : "error";
  }
};

// The client preface and an empty SETTINGS frame.
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]);

/** Sends each byte as a separate packet, as far as the system permits. */
const drip = async (socket: { write: (bytes: Buffer, done: () => void) => void }, bytes: Buffer): Promise<void> => {
  for (const byte of bytes) {
    await new Promise<void>((resolve) => socket.write(Buffer.from([byte]), resolve));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
};

test("an HTTP/2 preface is recognized byte by byte", async () => {
  await using echo = await openEcho();
  const { socket } = await connectRaw(echo);
  socket.setNoDelay(true);
  const first = once(socket, "data") as Promise<[Buffer]>;
  await drip(socket, preface);
  const [settings] = await first;
  assert.equal(settings[3], 4, "the server's first frame is SETTINGS");
  socket.destroy();
});

test("an HTTP/1.1 request is recognized byte by byte, even if it starts like the preface", async () => {
  await using echo = await openEcho();
  for (const line of [hello, hello.replace("GET", "PRI"), hello.replace("GET", "PROPFIND")]) {
    const { socket, received } = await connectRaw(echo);
    await drip(socket, Buffer.from(line.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")));
    assert.match(statuses(await received).join(), line === hello ? /^200$/ : /^4\d\d$/);
  }
});

test("pipelined requests are answered in order, including one in the first packet", async () => {
  await using echo = await openEcho();
  const paths = Array.from({ length: 20 }, (_, index) => `/iam/v2/groups/g${index}`);
  const received = await exchangeRaw(
    echo,
    paths.map((path, index) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${index === 19 ? "connection: close\r\n" : ""}\r\n`).join(""),
  );
  assert.deepEqual(
    [...received.matchAll(/"uid":"(g\d+)"/g)].map((match) => match[1]),
    paths.map((path) => path.slice("/iam/v2/groups/".length)),
  );
});

test("a connection is kept open for the next request", async () => {
  await using echo = await openEcho();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports: (number | undefined)[] = [];
  for (let turn = 0; turn < 3; turn++) {
    await new Promise<void>((resolve) =>
      http1Get({ host: "127.0.0.1", port: echo.port, path: "/healthz", agent }, (response) => {
        ports.push(response.socket.localPort);
        response.resume().on("end", () => setImmediate(resolve));
      }),
    );
  }
  assert.equal(new Set(ports).size, 1);
  agent.destroy();
});

test("a peer that sends nothing, or only part of a preface, is disconnected", async () => {
  await using echo = await openEcho({ bounds: { prefaceTimeoutMs: 30 } });
  for (const beginning of ["", "P", "PRI * HTTP/2"]) {
    const { socket, received } = await connectRaw(echo);
    socket.write(beginning);
    assert.equal(await received, "");
  }
});

test("headers or a body that do not arrive in time end the connection with 408", async () => {
  await using echo = await openEcho({ bounds: { headersTimeoutMs: 50, requestTimeoutMs: 100 } });
  const slowHeaders = await connectRaw(echo);
  slowHeaders.socket.write("GET / HTTP/1.1\r\nhost: x\r\n");
  const slowBody = await connectRaw(echo);
  slowBody.socket.write("POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{");
  for (const { received } of [slowHeaders, slowBody]) {
    const response = await received;
    assert.deepEqual(statuses(response), ["408"]);
    assert.match(response, /google\.rpc\.ErrorInfo/);
  }
  assert.equal(echo.calls.length, 0);
});

test("a body that does not arrive in time ends its HTTP/2 stream with 408", async () => {
  await using echo = await openEcho({ bounds: { requestTimeoutMs: 50 } });
  const session = connectHttp2(echo.url);
  const stream = session.request({ ":path": "/iam/v2/groups", ":method": "POST" });
  stream.write("{");
  const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
  assert.equal(headers[":status"], 408);
  session.destroy();
});

const post = "POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\n";
const wrong: [title: string, request: string, status: string][] = [
  ["headers over 16 KiB", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(17_000)}\r\n\r\n`, "431"],
  ["two lengths", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{} ", "400"],
  ["two equal lengths", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}", "400"],
  ["a length and chunks", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "400"],
  ["a length that is no number", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ncontent-length: +2\r\n\r\n{}", "400"],
  ["an unknown transfer encoding", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n", "400"],
  ["a chunk size that is no number", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", "400"],
  ["chunks in HTTP/1.0", "POST /iam/v2/groups HTTP/1.0\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n0\r\n\r\n", "400"],
  ["chunked that is not last", "POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400"],
  ["a folded header", "GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", "400"],
  ["a space before the colon", "GET / HTTP/1.1\r\nhost: x\r\na : b\r\n\r\n", "400"],
  ["a bare line feed in a header", "GET / HTTP/1.1\r\nhost: x\r\na: b\nc: d\r\n\r\n", "400"],
  ["no Host", "GET /iam/v2/groups/abc HTTP/1.1\r\nconnection: close\r\n\r\n", "400"],
  ["two Hosts", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n", "400"],
  ["two equal Hosts", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", "400"],
  ["a Host that is none", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: a b\r\n\r\n", "400"],
  ["two Hosts in one header", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x,y\r\n\r\n", "400"],
  ["an empty Host", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost:\r\n\r\n", "400"],
  ["a user in the Host", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: a@x\r\n\r\n", "400"],
  ["a user in the URL of the request line", "GET http://a@x/iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\n\r\n", "400"],
  ["a URL without a host in the request line", "GET http:///iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\n\r\n", "400"],
  ["a fragment in the request line", "GET /iam/v2/groups/abc#x HTTP/1.1\r\nhost: x\r\n\r\n", "400"],
  ["a byte beyond ASCII in the request line", "GET /iam/v2/groups/a\xe9 HTTP/1.1\r\nhost: x\r\n\r\n", "400"],
  ["a transfer encoding that is not undone", `${post}transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, "400"],
  ["chunks in HTTP/1.0 without a length", `POST /iam/v2/groups/abc HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, "400"],
  ["chunked twice", `${post}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, "400"],
  ["a folded transfer encoding", `${post}transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n`, "400"],
  ["a chunk size with a sign", `${post}transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n`, "400"],
  ["a chunk size that begins with 0x", `${post}transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`, "400"],
  ["a chunk size of more than 64 bits", `${post}transfer-encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n`, "400"],
  ["a chunk size that a bare line feed ends", `${post}transfer-encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`, "400"],
  ["a chunk longer than its size", `${post}transfer-encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n`, "400"],
  ["extensions of a chunk over 16 KiB", `${post}transfer-encoding: chunked\r\n\r\n2;${"a".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`, "413"],
  ["trailers over 16 KiB", `${post}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${"a: b\r\n".repeat(4_000)}\r\n`, "431"],
  ["two Authorizations", "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", "400"],
  ["HTTP/2.0 in a request line", "GET /iam/v2/groups/abc HTTP/2.0\r\nhost: x\r\n\r\n", "400"],
  ["HTTP/0.9 in a request line", "GET /iam/v2/groups/abc HTTP/0.9\r\nhost: x\r\n\r\n", "400"],
  ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"],
  ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", "405"],
];
for (const [title, request, status] of wrong) {
  test(`${title}: ${status} with an AIP-193 body, and the connection closes`, async () => {
    await using echo = await openEcho();
    const response = await exchangeRaw(echo, Buffer.from(request, "latin1"));
    assert.deepEqual(statuses(response), [status]);
    assert.match(response, /\r\nconnection: close\r\n/i);
    assert.match(response, /"@type":"type.googleapis.com\/google.rpc.ErrorInfo"/);
    assert.equal(echo.calls.length, 0);
  });
}

test("invalid bytes after a complete request do not suppress its response", async () => {
  await using echo = await openEcho();
  const response = await exchangeRaw(echo, `${hello}{nonsense`);
  assert.equal(statuses(response)[0], "200");
});

test("a too large body with Expect: 100-continue is rejected before it is sent", async () => {
  await using echo = await openEcho();
  const { socket, received } = await connectRaw(echo);
  socket.write(`POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: ${2 ** 20 + 1}\r\n\r\n`);
  assert.deepEqual(statuses(await received), ["413"]);
  const small = await connectRaw(echo);
  small.socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n");
  await once(small.socket, "data");
  small.socket.write("{}");
  assert.deepEqual(statuses(await small.received), ["100", "200"]);
});

test("a chunked body over 1 MiB is rejected with 413 while it arrives", async () => {
  await using echo = await openEcho();
  const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
  const response = await exchangeRaw(
    echo,
    `POST /iam/v2/groups HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(17)}0\r\n\r\n`,
  );
  assert.deepEqual(statuses(response), ["413"]);
});

test("among many connections with unread bodies only the oldest is closed early", { timeout: 30_000 }, async () => {
  const unauthenticated = (): void => {
    throw new Fault("UNAUTHENTICATED", "authentication required");
  };
  await using echo = await openEcho({ bounds: { unreadMax: 2, unreadMs: 600_000, drainMs: 30 } }, { authenticate: unauthenticated });
  /** A peer that is refused, reads its response and stays connected. */
  const openRefused = async (): Promise<Socket> => {
    const socket = connect({ port: echo.port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
    socket.write(`${post}content-length: ${2 ** 30}\r\n\r\n`);
    await once(socket, "end");
    assert.deepEqual(statuses(answer), ["401"]);
    return socket;
  };
  /** Whether the peer's bytes are accepted; a reset shows with the next write. */
  const isTaken = async (socket: Socket): Promise<boolean> => {
    for (const bytes of ["y", "y"]) if (await new Promise((resolve) => void socket.write(bytes, resolve))) return false;
    return true;
  };
  const oldest = await openRefused();
  const others = [await openRefused(), await openRefused()];
  while (await isTaken(oldest));
  assert.deepEqual(await Promise.all(others.map(isTaken)), [true, true]);
  for (const socket of others) socket.destroy();
});

test("an absolute URL in the request line is accepted", async () => {
  await using echo = await openEcho();
  const response = await exchangeRaw(echo, "GET http://x/iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  assert.deepEqual(statuses(response), ["200"]);
});

test("headers over 16 KiB are 431 over HTTP/2, even before the peer knows the limit", async () => {
  await using echo = await openEcho();
  const session = connectHttp2(echo.url);
  const stream = session.request({ ":path": "/healthz", x: "y".repeat(20_000) });
  const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
  assert.equal(headers[":status"], 431);
  session.destroy();
});

/** Builds HTTP/2 frames as a hostile client would. */
const h2frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
/** GET http://x/ in HPACK's static table. */
const getRoot = Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x78]);

test("over HTTP/2, two Authorization headers are 400 and two Host headers a stream error", async () => {
  await using echo = await openEcho();
  // HPACK's static table: 23 is "authorization", 38 is "host", and 12 is ":status: 400".
  for (const [index, type, answer] of [
    [23, 1, 0x80 + 12],
    [38, 3, 0],
  ] as const) {
    const { socket } = await connectRaw(echo);
    const twice = Buffer.from([0x40 + index, 1, 0x78]);
    const firstByte = new Promise<number>((resolve) => {
      let bytes = Buffer.alloc(0);
      socket.on("data", (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (let at = 0; at + 9 < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) if (bytes[at + 3] === type) resolve(bytes.readUInt8(at + 9));
      });
    });
    socket.write(Buffer.concat([preface, h2frame(1, 0x5, 1, Buffer.concat([getRoot, twice, twice]))]));
    assert.equal(await firstByte, answer);
    socket.destroy();
  }
  assert.equal(echo.calls.length, 0);
});

test("attack 50: an HTTP/2 request with an ambiguous host or path is 400; one with two equal hosts is served", async () => {
  await using echo = await openEcho();
  const session = connectHttp2(echo.url);
  for (const [headers, status] of [
    [{ ":authority": "x", host: "y" }, 400],
    [{ ":authority": "x,y" }, 400],
    [{ ":authority": "x", ":path": "/iam/v2/groups/abc#x" }, 400],
    [{ ":authority": "x", host: "x" }, 200],
    [{ ":authority": "X:80", host: "x" }, 200],
    [{ ":authority": "[::1]:8080" }, 200],
  ] as const) {
    const stream = session.request({ ":path": "/iam/v2/groups/abc", ...headers });
    stream.resume();
    const [answer] = (await once(stream, "response")) as [{ ":status"?: number }];
    assert.equal(answer[":status"], status, JSON.stringify(headers));
    await once(stream, "close");
  }
  session.destroy();
  assert.equal(echo.calls.length, 3);
});

test("rapid resets close the connection (CVE-2023-44487)", async () => {
  await using echo = await openEcho({ bounds: { streamResetsMax: 20 } });
  const { socket, received } = await connectRaw(echo);
  socket.write(preface);
  for (let stream = 1; stream < 200; stream += 2) {
    socket.write(h2frame(1, 0x5, stream, getRoot));
    socket.write(h2frame(3, 0, stream, Buffer.from([0, 0, 0, 8])));
  }
  await received;
});

test("an endless header block closes the connection", async () => {
  await using echo = await openEcho();
  const { socket, received } = await connectRaw(echo);
  socket.write(preface);
  socket.write(h2frame(1, 0x1, 1, getRoot));
  for (let turn = 0; turn < 64; turn++)
    socket.write(h2frame(9, 0, 1, Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0x81, 0x3e]), Buffer.alloc(8192, 0x62)])));
  await received;
});

test("a refused peer that resets its connection does not stop the server", async () => {
  await using echo = await openEcho();
  const garbage = Buffer.concat([preface, h2frame(0, 0, 5, Buffer.from("x"))]);
  for (const bytes of ["CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", "nonsense\r\n\r\n", garbage]) {
    for (let turn = 0; turn < 10; turn++) {
      const { socket } = await connectRaw(echo);
      socket.write(bytes);
      await once(socket, "data");
      socket.write("more");
      socket.resetAndDestroy();
    }
  }
  assert.deepEqual(statuses(await exchangeRaw(echo, hello.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n"))), ["200"]);
});

test("streams of one connection are limited", async () => {
  await using echo = await openEcho({ bounds: { streamsMax: 3 } });
  const session = connectHttp2(echo.url);
  const [settings] = (await once(session, "remoteSettings")) as [{ maxConcurrentStreams?: number }];
  assert.equal(settings.maxConcurrentStreams, 3);
  session.destroy();
});

test("a peer that does not read its response is disconnected", async () => {
  await using echo = await openEcho({ bounds: { idleTimeoutMs: 50 } }, { serve: async () => ({ message: { response: "x".repeat(100_000) } }) });
  const session = connectHttp2(echo.url, { settings: { initialWindowSize: 0 } });
  for (const headers of [
    { ":path": "/ping/v2/ping" },
    { ":path": "/chainguard.platform.ping.v2.PingService/Ping", ":method": "POST", "content-type": "application/grpc" },
  ]) {
    const stream = session.request(headers);
    stream.on("error", () => {});
    if (headers[":method"]) stream.end(Buffer.alloc(5));
    await once(stream, "close");
    assert.equal(stream.rstCode, 8);
  }
  session.destroy();
  const { socket } = await connectRaw(echo);
  socket.pause();
  const asked = echo.calls.length;
  socket.write("GET /ping/v2/ping HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200));
  while (echo.calls.length === asked) await new Promise((resolve) => setImmediate(resolve));
  const started = performance.now();
  await echo.close();
  assert.ok(performance.now() - started < 5000, "the connection ended before the drain's end");
  socket.destroy();
});

test("connections over the limit are refused", async () => {
  await using echo = await openEcho({ bounds: { connectionsMax: 2 } });
  const kept = [await connectRaw(echo), await connectRaw(echo)];
  const third = await connectRaw(echo).catch(() => undefined);
  if (third) assert.equal(await third.received, "");
  for (const { socket } of kept) socket.destroy();
});

/** A kernel that signals its call and responds on `go`. */
const held = (): { serve: () => Promise<Reply>; asked: Promise<void>; go: () => void } => {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    serve: async () => {
      asked.resolve();
      await gate.promise;
      return { message: { response: "late" } };
    },
    asked: asked.promise,
    go: gate.resolve,
  };
};

test("stopping completes HTTP/1.1 requests in flight, then closes the connection", async () => {
  const kernel = held();
  const echo = await openEcho({}, { serve: kernel.serve });
  const { socket, received } = await connectRaw(echo);
  const idle = await connectRaw(echo);
  socket.write("GET /ping/v2/ping HTTP/1.1\r\nhost: x\r\n\r\n");
  await kernel.asked;
  const closed = echo.close();
  assert.equal(await idle.received, "");
  kernel.go();
  const response = await received;
  assert.match(response, /"late"/);
  assert.match(response, /connection: close/);
  await closed;
  await assert.rejects(connectRaw(echo), { code: "ECONNREFUSED" });
});

test("stopping completes HTTP/2 requests in flight and accepts no new stream", async () => {
  const kernel = held();
  const echo = await openEcho({}, { serve: kernel.serve });
  const session = connectHttp2(echo.url);
  const stream = session.request({ ":path": "/ping/v2/ping" });
  let body = "";
  stream.on("data", (chunk) => (body += chunk));
  await kernel.asked;
  const goaway = once(session, "goaway");
  const closed = echo.close();
  await goaway;
  kernel.go();
  await once(stream, "close");
  assert.match(body, /"late"/);
  await closed;
});

test("requests that do not finish in time are cut off on stop", async () => {
  const echo = await openEcho({ bounds: { drainMs: 30 } });
  const { socket, received } = await connectRaw(echo);
  socket.write(hello.replace("abc", "never"));
  const session = connectHttp2(echo.url);
  session.on("error", () => {});
  const stream = session.request({ ":path": "/iam/v2/groups/never" });
  stream.on("error", () => {});
  await once(session, "remoteSettings");
  await echo.close();
  assert.equal(await received, "");
  assert.ok(stream.destroyed);
});

test("a port in use is an error, not a crash", async () => {
  await using echo = await openEcho();
  await assert.rejects(openEcho({ port: echo.port }), { code: "EADDRINUSE" });
});

const tls = localhost;

const overTls = (echo: Echo): Promise<number> =>
  new Promise((resolve, reject) => {
    httpsRequest({ host: "127.0.0.1", port: echo.port, path: "/healthz", ca: tls.cert, servername: "localhost", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });

test("TLS offers HTTP/2 and HTTP/1.1 by ALPN, and HTTP/1.1 without ALPN", async () => {
  await using echo = await openEcho({ tls });
  assert.equal(await overTls(echo), 200);
  const session = connectHttp2(echo.url, { ca: tls.cert, servername: "localhost" });
  assert.equal(await status2(session, "/healthz"), 200);
  assert.equal(session.alpnProtocol, "h2");
  session.destroy();
});

test("TLS below 1.2, and clear text on a TLS port, get no response", async () => {
  await using echo = await openEcho({ tls });
  assert.equal(await exchangeRaw(echo, hello), "");
  const old = connectTls({
    host: "127.0.0.1",
    port: echo.port,
    rejectUnauthorized: false,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  });
  await assert.rejects(once(old, "secureConnect"));
  assert.equal(await overTls(echo), 200);
});

test("a peer without a TLS handshake is disconnected", async () => {
  await using echo = await openEcho({ tls, bounds: { prefaceTimeoutMs: 30 } });
  const { received } = await connectRaw(echo);
  assert.equal(await received, "");
});
