import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { unauthenticated } from "#base/fault.ts";
import { CreateGroupRequestSchema } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { ServerReflectionRequestSchema } from "#contract/gen/grpc/reflection/v1/reflection_pb.js";
import type { UnreadCall } from "#kernel";
import { connectRaw, type Echo, exchangeRaw, openEcho } from "./echo.fixture.ts";
import { frameMessage } from "./frames.ts";

const statuses = (received: string): string[] => [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1] ?? "");

const createGroup = { ":method": "POST", ":path": "/iam/v2/groups/abc" };
const createGroupRpc = {
  ":method": "POST",
  ":path": "/chainguard.platform.iam.v2.GroupsService/CreateGroup",
  "content-type": "application/grpc",
  te: "trailers",
};

const withSession = async <T>(echo: Echo, work: (session: ClientHttp2Session) => Promise<T>): Promise<T> => {
  const session = connectHttp2(echo.url);
  try {
    return await work(session);
  } finally {
    session.destroy();
  }
};

const answerOf = async (stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & { ":status"?: number }> => {
  stream.on("error", () => {});
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  stream.resume();
  return headers;
};

// ---- body memory is released ------------------------------------------------------------------------------------------

/** 2,000 bytes in total: three unreleased bodies would exhaust them. */
const smallBounds = { streamsMax: 2, bodyBytesMax: 1000, grpcMessageBytesMax: 1000 };
const shortTimes = { requestTimeoutMs: 100, callDeadlineMs: 100 };
const times = 5;

const json = (bytes: number): string => `{"name":"${"x".repeat(bytes - '{"name":""}'.length)}"}`;
const head = (rest: string): string => `POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${rest}\r\n\r\n`;
const message = (nameLength: number): Buffer =>
  frameMessage(toBinary(CreateGroupRequestSchema, create(CreateGroupRequestSchema, { parent: "abc", group: { name: "x".repeat(nameLength) } })));

/** Sends parts of two bodies, waits until the server has no room for a third, and resets the streams. */
const cutOff = (headers: typeof createGroup, part: Buffer | string) => (echo: Echo) =>
  withSession(echo, async (session) => {
    const streams = [session.request(headers), session.request(headers)];
    for (const stream of streams)
      stream
        .on("error", () => {})
        .resume()
        .write(part);
    const closed = Promise.all(streams.map((stream) => once(stream, "close")));
    while (statuses(await exchangeRaw(echo, head("content-length: 900") + json(900)))[0] !== "503") assert.ok(streams.every(({ closed }) => !closed));
    for (const stream of streams) stream.close(8);
    await closed;
    // The ping follows the resets: once answered, the server has seen them.
    await new Promise((resolve) => session.ping(resolve));
  });

const rpcStatus = (echo: Echo, chunk: Buffer, end: boolean): Promise<string> =>
  withSession(echo, async (session) => {
    const stream = session.request(createGroupRpc);
    stream.write(chunk);
    if (end) stream.end();
    const trailers = once(stream, "trailers");
    const headers = await answerOf(stream);
    if (headers["grpc-status"] !== undefined) return String(headers["grpc-status"]);
    return String(((await trailers) as [IncomingHttpHeaders])[0]["grpc-status"]);
  });

const endings: readonly (readonly [title: string, send: (echo: Echo) => Promise<unknown>, answer: unknown])[] = [
  ["read to their end", async (echo) => statuses(await exchangeRaw(echo, head("content-length: 900") + json(900))), ["200"]],
  [
    "refused as too large",
    async (echo) => statuses(await exchangeRaw(echo, `${head("transfer-encoding: chunked")}5dc\r\n${json(1500)}\r\n0\r\n\r\n`)),
    ["413"],
  ],
  ["cut off by their sender over HTTP/1.1", async (echo) => statuses(await exchangeRaw(echo, head("content-length: 950") + json(900))), ["400"]],
  ["cut off by their sender over HTTP/2", cutOff(createGroup, json(900)), undefined],
  [
    "too slow",
    async (echo) => {
      const { socket, received } = await connectRaw(echo);
      socket.write(head("content-length: 950") + json(900));
      return statuses(await received);
    },
    ["408"],
  ],
  ["read to their end over gRPC", (echo) => rpcStatus(echo, message(800), true), "0"],
  ["refused as too large over gRPC", (echo) => rpcStatus(echo, message(1200), true), "8"],
  ["of two messages where one is read over gRPC", (echo) => rpcStatus(echo, Buffer.concat([message(400), message(400)]), true), "12"],
  ["cut off by their sender over gRPC", cutOff(createGroupRpc, message(900).subarray(0, 850)), undefined],
  ["too slow over gRPC", (echo) => rpcStatus(echo, message(900).subarray(0, 850), false), "4"],
];

/** With short timeouts a busy machine may be too slow itself: retry that answer. */
const answerInTime = async (ask: () => Promise<string>, tooSlow: string): Promise<string> => {
  for (let turn = 0; turn < 20; turn++) {
    const answer = await ask();
    if (answer !== tooSlow) return answer;
  }
  return tooSlow;
};

for (const [title, send, answer] of endings)
  test(`memory of request bodies that are ${title} is released`, async () => {
    await using echo = await openEcho({ bounds: { ...smallBounds, ...(title.startsWith("too slow") ? shortTimes : {}) } });
    for (let turn = 0; turn < times; turn++) assert.deepEqual(await send(echo), answer);
    assert.equal(await answerInTime(async () => statuses(await exchangeRaw(echo, head("content-length: 1000") + json(1000))).join(), "408"), "200");
    assert.equal(await answerInTime(() => rpcStatus(echo, message(900), true), "4"), "0");
  });

test("a stream of many messages holds the memory of only one at a time", async () => {
  await using echo = await openEcho({ bounds: smallBounds });
  const request = create(ServerReflectionRequestSchema, { messageRequest: { case: "fileByFilename", value: "x".repeat(800) } });
  await withSession(echo, async (session) => {
    const stream = session.request({ ...createGroupRpc, ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" });
    const closed = once(stream, "close");
    for (let turn = 0; turn < 3 * times; turn++) {
      stream.write(frameMessage(toBinary(ServerReflectionRequestSchema, request)));
      await Promise.race([once(stream, "data"), closed]);
    }
    assert.ok(!stream.closed);
    stream.end();
    const [trailers] = (await once(stream, "trailers")) as [IncomingHttpHeaders];
    assert.equal(trailers["grpc-status"], "0");
  });
  assert.deepEqual(statuses(await exchangeRaw(echo, head("content-length: 1000") + json(1000))), ["200"]);
});

// ---- unauthenticated bodies are not read ------------------------------------------------------------------------------

const authenticate = ({ authorization }: UnreadCall): void => {
  if (authorization !== "Bearer good") throw unauthenticated("authentication required");
};

test("after a call is refused unread, its HTTP/1.1 connection serves the next request once the body has arrived", async () => {
  await using echo = await openEcho({}, { authenticate });
  const { socket, received } = await connectRaw(echo);
  const answered = once(socket, "data");
  socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n");
  await answered;
  socket.write("GET /healthz HTTP/1.");
  socket.end("GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\nconnection: close\r\n\r\n");
  assert.deepEqual(statuses(await received), ["401", "200"]);
  assert.deepEqual(
    echo.calls.map(({ method }) => method.rpc),
    ["GetGroup"],
  );
});

test("a connection with an unfinished refused body is closed after the timeout, without a second response", async () => {
  await using echo = await openEcho({ bounds: { headersTimeoutMs: 50, requestTimeoutMs: 100 } }, { authenticate });
  for (const [headers, body] of [
    ["content-length: 10", ""],
    ["content-length: 10", "12345"],
    ["transfer-encoding: chunked", "1\r\n{\r\n"],
    ["transfer-encoding: chunked", "this is no chunk\r\n"],
  ]) {
    const { socket, received } = await connectRaw(echo);
    socket.write(`POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`);
    await once(socket, "data");
    if (body) socket.write(body);
    assert.deepEqual(statuses(await received), ["401"], `${headers} ${body}`);
  }
});

test("a refused request with Expect: 100-continue gets no 100, and its connection closes", async () => {
  await using echo = await openEcho({}, { authenticate });
  const { socket, received } = await connectRaw(echo);
  socket.write("POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
  assert.deepEqual(statuses(await received), ["401"]);
  assert.match(await received, /\r\nconnection: close\r\n/);
});

for (const [title, headers] of [
  ["HTTP/2", createGroup],
  ["gRPC", createGroupRpc],
] as const)
  test(`${title}: the stream of a call refused unread ends without an error, and its connection stays open`, async () => {
    await using echo = await openEcho({}, { authenticate });
    await withSession(echo, async (session) => {
      for (let turn = 0; turn < 3; turn++) {
        const stream = session.request(headers);
        stream.write(Buffer.alloc(10));
        const answer = await answerOf(stream);
        assert.ok(answer[":status"] === 401 || answer["grpc-status"] === "16");
        if (!stream.closed) await once(stream, "close");
        assert.equal(stream.rstCode, 0);
      }
      const good = session.request({ ":path": "/iam/v2/groups/abc", authorization: "Bearer good" });
      assert.equal((await answerOf(good))[":status"], 200);
    });
    assert.equal(echo.calls.length, 1);
  });

test("a body that waits for authentication uses no body memory", async () => {
  const gate = Promise.withResolvers<void>();
  await using echo = await openEcho(
    { bounds: smallBounds },
    { authenticate: ({ authorization }) => (authorization === "Bearer slow" ? gate.promise : undefined) },
  );
  await withSession(echo, async (session) => {
    const waiting = Array.from({ length: smallBounds.streamsMax }, () => session.request({ ...createGroup, authorization: "Bearer slow" }));
    for (const stream of waiting) stream.end(json(1000));
    await new Promise((resolve) => session.ping(resolve));
    assert.deepEqual(statuses(await exchangeRaw(echo, head("content-length: 1000") + json(1000))), ["200"]);
    const answers = waiting.map(answerOf);
    gate.resolve();
    for (const answer of answers) assert.equal((await answer)[":status"], 200);
  });
});

test("a body that ends empty during authentication is an empty body", async () => {
  let gate = Promise.withResolvers<void>();
  await using echo = await openEcho({}, { authenticate: () => gate.promise });
  const whileUnknown = async <T>(answer: Promise<T>, arrived: () => Promise<unknown>): Promise<T> => {
    await arrived();
    gate.resolve();
    const result = await answer;
    gate = Promise.withResolvers();
    return result;
  };
  await withSession(echo, async (session) => {
    const roundTrip = () => new Promise((resolve) => session.ping(resolve));
    await once(session, "connect");
    const empty = session.request(createGroup);
    empty.end();
    assert.equal((await whileUnknown(answerOf(empty), roundTrip))[":status"], 200);
    const rpc = session.request(createGroupRpc);
    rpc.end();
    assert.equal((await whileUnknown(answerOf(rpc), roundTrip))["grpc-status"], "12");
    const { socket, received } = await connectRaw(echo);
    socket.write(`${head("transfer-encoding: chunked")}0\r\n\r\n`);
    const served = () => exchangeRaw(echo, "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert.deepEqual(statuses(await whileUnknown(received, served)), ["200"]);
  });
});
