import assert from "node:assert/strict";
import { on, once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { BlockList } from "node:net";
import { holderOf } from "#connections";
import { type Echo, openEcho } from "./echo.fixture.ts";
import { localhost as tls } from "./localhost.fixture.ts";

/** Builds HTTP/2 frames as a hostile client would. */
const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
const [DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [0, 1, 4, 6, 7, 8, 9];
const [END_STREAM, END_HEADERS] = [0x1, 0x4];
const four = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A header of HPACK's static table with another value (RFC 7541, 6.2.1). */
const field = (index: number, value: string): Buffer => Buffer.concat([Buffer.from([0x40 + index, value.length]), Buffer.from(value)]);
const [GET, POST, HTTP] = [Buffer.from([0x82]), Buffer.from([0x83]), Buffer.from([0x86])];
const request = (method: Buffer, path: string, ...more: Buffer[]): Buffer => Buffer.concat([method, HTTP, field(4, path), field(1, "x"), ...more]);
const grpc = field(31, "application/grpc");
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const opening = Buffer.concat([preface, frame(SETTINGS, 0, 0)]);
/** SETTINGS_INITIAL_WINDOW_SIZE. */
const openingWithWindow = (bytes: number): Buffer => Buffer.concat([preface, frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), four(bytes)]))]);
const ping = request(GET, "/ping/v2/ping");

const times = {
  prefaceTimeoutMs: 300,
  headersTimeoutMs: 300,
  requestTimeoutMs: 300,
  callDeadlineMs: 100,
  idleTimeoutMs: 200,
  exchangeTimeoutMs: 500,
  hangUpMs: 50,
};

/** More than the system's buffers of both ends. */
const largeAnswer = "x".repeat(24 * 1024 * 1024);

const everyMs = (socket: Socket, ms: number, act: () => void): void => {
  const timer = setInterval(act, ms);
  socket.once("close", () => clearInterval(timer));
};

/** On a slow machine the server closed the connection before the peer reached the state to test. */
class CutEarly extends Error {}

/** Resolves on close; an error before it does not matter. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.on("error", () => {}).once("close", () => resolve()));

/** Waits for this many bytes; throws CutEarly if the connection ends before. */
const hear = async (socket: Socket, bytes: number): Promise<void> => {
  let heard = 0;
  try {
    for await (const [piece] of on(socket, "data", { close: ["end", "close"] }) as AsyncIterable<[Buffer]>) {
      heard += piece.length;
      if (heard >= bytes) return;
    }
  } catch (cause) {
    throw new CutEarly("reset", { cause });
  }
  throw new CutEarly("ended");
};

type Peer = (socket: Socket) => void | Promise<void>;

const http1: Readonly<Record<string, Peer>> = {
  "before the first byte": () => {},
  "in the request line": (socket) => void socket.write("GE"),
  "in the headers": (socket) => void socket.write("GET / HTTP/1.1\r\nhost: x\r\n"),
  "in the headers, with a byte now and then": (socket) => {
    socket.write("GET / HTTP/1.1\r\nhost: x\r\nx: ");
    everyMs(socket, 10, () => socket.write("y"));
  },
  "in the body": (socket) => void socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"),
  "in the body, with a byte now and then": (socket) => {
    socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\ncontent-length: 99999\r\n\r\n");
    everyMs(socket, 10, () => socket.write(" "));
  },
  "in a chunk": (socket) => void socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"),
  "in the body of a request that has its answer": async (socket) => {
    socket.write("POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n");
    await hear(socket, 1);
  },
  "after it was told to go on with its body": async (socket) => {
    socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n");
    await hear(socket, 1);
  },
  "between requests": async (socket) => {
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await hear(socket, 1);
  },
  "between requests, with an empty line now and then": async (socket) => {
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await hear(socket, 1);
    everyMs(socket, 10, () => socket.write("\r\n"));
  },
  "in its answer, of which it reads nothing": (socket) => {
    socket.pause();
    socket.write("GET /ping/v2/ping HTTP/1.1\r\nhost: x\r\n\r\n");
  },
  "in its answer, of which it reads a piece now and then": (socket) => {
    socket.pause();
    socket.write("GET /ping/v2/ping HTTP/1.1\r\nhost: x\r\n\r\n");
    everyMs(socket, 20, () => void socket.read());
  },
  "after CONNECT": async (socket) => {
    socket.write("CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n");
    await hear(socket, 1);
  },
  "after it was refused, but for a byte now and then": async (socket) => {
    socket.write("nonsense\r\n\r\n");
    await hear(socket, 1);
    everyMs(socket, 10, () => socket.write("x"));
  },
  "after the last answer": async (socket) => {
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    await hear(socket, 1);
  },
};

const answered = async (socket: Socket): Promise<void> => {
  socket.write(Buffer.concat([opening, frame(HEADERS, END_STREAM | END_HEADERS, 1, request(GET, "/healthz"))]));
  // More than SETTINGS and their acknowledgement.
  await hear(socket, 100);
};

const http2: Readonly<Record<string, Peer>> = {
  "in the preface": (socket) => void socket.write(preface.subarray(0, 12)),
  "at the end of the preface": (socket) => void socket.write(preface),
  "before the first stream": (socket) => void socket.write(opening),
  "in the head of a frame": (socket) => void socket.write(Buffer.concat([opening, frame(HEADERS, 0, 1, ping).subarray(0, 5)])),
  "in HEADERS without END_HEADERS": (socket) => void socket.write(Buffer.concat([opening, frame(HEADERS, END_STREAM, 1, ping)])),
  "in CONTINUATION without END_HEADERS": (socket) =>
    void socket.write(Buffer.concat([opening, frame(HEADERS, END_STREAM, 1, ping), frame(CONTINUATION, 0, 1, field(58, "a"))])),
  "in CONTINUATION, with a byte now and then": (socket) => {
    socket.write(Buffer.concat([opening, frame(HEADERS, END_STREAM, 1, ping), frame(CONTINUATION, 0, 1, Buffer.alloc(9999)).subarray(0, 9)]));
    everyMs(socket, 10, () => socket.write(Buffer.from([0])));
  },
  "in HEADERS without END_HEADERS behind a stream that was answered": async (socket) => {
    await answered(socket);
    socket.write(frame(HEADERS, END_STREAM, 3, ping));
  },
  "in the body": (socket) =>
    void socket.write(Buffer.concat([opening, frame(HEADERS, END_HEADERS, 1, request(POST, "/iam/v2/groups/abc")), frame(DATA, 0, 1, Buffer.from("{"))])),
  "in the body of a request that has its answer": async (socket) => {
    socket.write(Buffer.concat([opening, frame(HEADERS, END_HEADERS, 1, request(POST, "/nothing"))]));
    await hear(socket, 100);
  },
  "in the message of a gRPC call": (socket) =>
    void socket.write(
      Buffer.concat([
        opening,
        frame(HEADERS, END_HEADERS, 1, request(POST, "/chainguard.platform.iam.v2.GroupsService/GetGroup", grpc)),
        frame(DATA, 0, 1, Buffer.alloc(3)),
      ]),
    ),
  "between requests": answered,
  "between requests, with a PING now and then": async (socket) => {
    await answered(socket);
    everyMs(socket, 10, () => socket.write(frame(PING, 0, 0, Buffer.alloc(8))));
  },
  "in its answer, for which it opens no window": (socket) =>
    void socket.write(Buffer.concat([openingWithWindow(0), frame(HEADERS, END_STREAM | END_HEADERS, 1, ping)])),
  "in its answer, for which it opens a window of a byte now and then": (socket) => {
    socket.write(Buffer.concat([openingWithWindow(0), frame(HEADERS, END_STREAM | END_HEADERS, 1, ping)]));
    everyMs(socket, 10, () => socket.write(frame(WINDOW_UPDATE, 0, 1, four(1))));
  },
  "in its answer, of which it reads nothing": (socket) => {
    socket.pause();
    socket.write(
      Buffer.concat([
        openingWithWindow(2 ** 31 - 1),
        frame(WINDOW_UPDATE, 0, 0, four(2 ** 31 - 1 - 65_535)),
        frame(HEADERS, END_STREAM | END_HEADERS, 1, ping),
      ]),
    );
  },
  "after CONNECT": async (socket) => {
    const method = Buffer.concat([Buffer.from([0x42, 7]), Buffer.from("CONNECT"), field(1, "x:1")]);
    socket.write(Buffer.concat([opening, frame(HEADERS, END_HEADERS, 1, method)]));
    await hear(socket, 30);
  },
  "in a watch, without an answer to PING": (socket) =>
    void socket.write(
      Buffer.concat([
        opening,
        frame(HEADERS, END_HEADERS, 1, request(POST, "/grpc.health.v1.Health/Watch", grpc)),
        frame(DATA, END_STREAM, 1, Buffer.alloc(5)),
      ]),
    ),
  "after its own GOAWAY": async (socket) => {
    await answered(socket);
    socket.write(frame(GOAWAY, 0, 0, Buffer.alloc(8)));
  },
  "after nonsense": async (socket) => {
    socket.write(Buffer.concat([opening, frame(DATA, 0, 5, Buffer.from("x"))]));
    await hear(socket, 1);
  },
};

const dial = async (echo: Echo, secure: boolean, protocol: string): Promise<Socket> => {
  const to = { port: echo.port, host: "127.0.0.1", allowHalfOpen: true };
  const socket = secure ? connectTls({ ...to, ca: tls.cert, servername: "localhost", ALPNProtocols: [protocol] }) : connect(to);
  socket.on("error", () => {});
  // Closed during its handshake: an error.
  await once(socket, secure ? "secureConnect" : "connect").catch((cause: unknown) => Promise.reject(new CutEarly("in its handshake", { cause })));
  return socket;
};

/** Resolves once a request is served, which needs the server's only connection. */
const untilServed = async (echo: Echo, secure: boolean): Promise<void> => {
  for (let served = false; !served; ) {
    const to = { port: echo.port, host: "127.0.0.1" };
    const socket = secure ? connectTls({ ...to, ca: tls.cert, servername: "localhost" }) : connect(to);
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    socket.on("data", () => (served = true));
    await closed(socket);
  }
};

const stops = async (secure: boolean, protocol: "http/1.1" | "h2", stop: Peer): Promise<void> => {
  await using echo = await openEcho(
    { bounds: { ...times, connectionsMax: 1 }, ...(secure ? { tls } : {}) },
    {
      serve: async () => ({ message: { response: largeAnswer } }),
    },
  );
  for (let stopped = false; !stopped; ) {
    let socket: Socket | undefined;
    try {
      socket = await dial(echo, secure, protocol);
      await stop(socket);
      stopped = true;
      await untilServed(echo, secure);
    } catch (thrown) {
      if (!(thrown instanceof CutEarly)) throw thrown;
    } finally {
      socket?.destroy();
    }
  }
};

for (const [protocol, states] of [
  ["http/1.1", http1],
  ["h2", http2],
] as const)
  for (const secure of [false, true])
    test(`${protocol} ${secure ? "over TLS" : "in clear text"}: a peer that stalls in any state is disconnected`, { concurrency: 4 }, async (t) => {
      await Promise.all(
        Object.entries(states).map(([state, stop]) => t.test(`a peer that stops ${state} is cut`, { timeout: 20_000 }, () => stops(secure, protocol, stop))),
      );
    });

for (const [state, bytes] of [
  ["before its first byte", ""],
  ["in its ClientHello", "\x16\x03\x01\x02\x00\x01\x00"],
] as const)
  test(`TLS: a peer that stalls in the handshake ${state} is disconnected`, async () => {
    await using echo = await openEcho({ bounds: { ...times, connectionsMax: 1 }, tls });
    const socket = await dial(echo, false, "");
    socket.write(Buffer.from(bytes, "latin1"));
    await untilServed(echo, true);
    socket.destroy();
  });

// ---- connections of one address ---------------------------------------------------------------------------------------

const from = async (echo: Echo, localAddress: string): Promise<{ socket: Socket; ended: Promise<void> }> => {
  const socket = connect({ port: echo.port, host: "127.0.0.1", localAddress });
  const ended = closed(socket.resume());
  await once(socket, "connect");
  return { socket, ended };
};

const servedTo = async (echo: Echo, localAddress: string): Promise<boolean> => {
  const { socket, ended } = await from(echo, localAddress);
  let served = false;
  socket.on("data", () => (served = true));
  socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await ended;
  return served;
};

test("connections of one address are limited; excess ones are closed, other addresses are served, and closing frees capacity", async () => {
  const lines: unknown[] = [];
  await using echo = await openEcho({ bounds: { connectionsPerAddress: 2 }, log: (event, facts) => void lines.push([event, facts?.address]) });
  const kept = [await from(echo, "127.0.0.2"), await from(echo, "127.0.0.2")];
  assert.equal(await servedTo(echo, "127.0.0.2"), false);
  assert.equal(await servedTo(echo, "127.0.0.2"), false);
  assert.equal(await servedTo(echo, "127.0.0.1"), true);
  assert.deepEqual(lines, [["connections", "127.0.0.2"]], "the operator is told once");
  kept[0]?.socket.destroy();
  while (!(await servedTo(echo, "127.0.0.2")));
  for (const { socket } of kept) socket.destroy();
});

test("connections of a trusted proxy are not limited", async () => {
  const trustedProxies = new BlockList();
  trustedProxies.addAddress("127.0.0.2");
  await using echo = await openEcho({ bounds: { connectionsPerAddress: 1 }, trustedProxies });
  const kept = [await from(echo, "127.0.0.2"), await from(echo, "127.0.0.2")];
  assert.equal(await servedTo(echo, "127.0.0.2"), true);
  for (const { socket } of kept) socket.destroy();
});

test("connections are counted per IPv4 address in any notation, and per IPv6 /64", () => {
  for (const [address, holder] of [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8:0:1::1", "2001:db8:0:1"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ] as const)
    assert.equal(holderOf(address), holder, address);
});

test("attack 49: connections with HEADERS without END_HEADERS do not block other clients, and all of them are closed", async () => {
  await using echo = await openEcho({ bounds: { headersTimeoutMs: 500, hangUpMs: 50, connectionsMax: 60, connectionsPerAddress: 50 } });
  const held = await Promise.all(Array.from({ length: 60 }, () => from(echo, "127.0.0.2")));
  for (const { socket } of held) socket.write(Buffer.concat([opening, frame(HEADERS, END_STREAM, 1, ping)]));
  assert.equal(await servedTo(echo, "127.0.0.1"), true);
  await Promise.all(held.map(({ ended }) => ended));
});
