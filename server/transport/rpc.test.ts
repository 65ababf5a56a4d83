import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { test } from "node:test";
import { promisify } from "node:util";
import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Client, type ClientOptions, compressionAlgorithms, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { Fault } from "#base/fault.ts";
import { registry } from "#contract/descriptors.ts";
import { CreateGroupRequestSchema, GetGroupRequestSchema, GroupSchema } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { StatusSchema } from "#contract/gen/google/rpc/status_pb.js";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
} from "#contract/gen/grpc/health/v1/health_pb.js";
import { type Echo, openEcho } from "./echo.fixture.ts";
import { frameMessage, frameReader } from "./frames.ts";

const groups = "/chainguard.platform.iam.v2.GroupsService";

/** Makes a unary call with @grpc/grpc-js, an independent client. */
const call = async <In extends DescMessage, Out extends DescMessage>(
  echo: Echo,
  path: string,
  input: In,
  init: MessageInitShape<In>,
  output: Out,
  { metadata = {}, client: options = {}, deadline }: { metadata?: Record<string, string>; client?: ClientOptions; deadline?: number } = {},
): Promise<{ message: MessageShape<Out> | undefined; error: ServiceError | undefined; initial: Metadata }> => {
  const client = new Client(`127.0.0.1:${echo.port}`, credentials.createInsecure(), options);
  const sent = new Metadata();
  for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
  let initial = new Metadata();
  const outcome = await new Promise<{ message: MessageShape<Out> | undefined; error: ServiceError | undefined }>((resolve) => {
    client
      .makeUnaryRequest(
        path,
        (message: MessageShape<In>) => Buffer.from(toBinary(input, message)),
        (bytes: Buffer) => fromBinary(output, bytes),
        create(input, init),
        sent,
        deadline === undefined ? {} : { deadline },
        (error, message) => resolve({ message, error: error ?? undefined }),
      )
      .on("metadata", (received: Metadata) => (initial = received));
  });
  client.close();
  return { ...outcome, initial };
};

const detailsOf = (error: ServiceError | undefined): unknown[] => {
  const [bytes] = error?.metadata.get("grpc-status-details-bin") ?? [];
  assert.ok(bytes instanceof Buffer);
  return fromBinary(StatusSchema, bytes).details.map((detail) => anyUnpack(detail, registry));
};

test("message, metadata and response headers are transferred", async () => {
  await using echo = await openEcho();
  const { message, initial } = await call(echo, `${groups}/GetGroup`, GetGroupRequestSchema, { uid: "etag" }, GroupSchema, {
    metadata: { authorization: "Bearer t", "gantry-identity": "me", "idempotency-key": "k", "validate-only": "true", "if-match": '"1"' },
  });
  assert.equal(message?.uid, "etag");
  assert.deepEqual(initial.get("etag"), ['"1"']);
  const [got] = echo.calls;
  assert.ok(got);
  assert.deepEqual(
    [
      got.method.rpc,
      got.request,
      got.authorization,
      got.identity,
      got.idempotencyKey,
      got.validateOnly,
      got.ifMatch,
      got.bodyPaths,
      initial.get("x-request-id")[0],
    ],
    ["GetGroup", { uid: "etag" }, "Bearer t", "me", "k", true, '"1"', undefined, got.requestId],
  );
});

test("the beta package is the same service", async () => {
  await using echo = await openEcho();
  const { message } = await call(echo, `${groups.replace(".v2.", ".v2beta1.")}/GetGroup`, GetGroupRequestSchema, { uid: "a" }, GroupSchema);
  assert.equal(message?.uid, "a");
});

test("gzip messages are read, as are messages of a megabyte in chunks", async () => {
  await using echo = await openEcho();
  const description = "x".repeat(1024 * 1024);
  for (const algorithm of [compressionAlgorithms.gzip, compressionAlgorithms.identity]) {
    const { message, error } = await call(
      echo,
      `${groups}/CreateGroup`,
      CreateGroupRequestSchema,
      { parent: "p", group: { name: "n", description } },
      GroupSchema,
      {
        client: { "grpc.default_compression_algorithm": algorithm },
      },
    );
    assert.equal(error, undefined);
    assert.equal(message?.description.length, description.length);
  }
});

test("an error has code, text and the details of REST", async () => {
  await using echo = await openEcho(
    {},
    {
      serve: () =>
        Promise.reject(
          new Fault("INVALID_ARGUMENT", "Ungültig: 100%", { details: [{ kind: "fields", violations: [{ field: "name", description: "so nicht" }] }] }),
        ),
    },
  );
  const { error } = await call(echo, `${groups}/GetGroup`, GetGroupRequestSchema, {}, GroupSchema);
  assert.equal(error?.code, status.INVALID_ARGUMENT);
  assert.equal(error.details, "Ungültig: 100%");
  const [info, fields] = detailsOf(error) as [
    { $typeName: string; reason: string; domain: string },
    { fieldViolations: { field: string; description: string }[] },
  ];
  assert.deepEqual([info.$typeName, info.reason, info.domain], ["google.rpc.ErrorInfo", "INVALID_ARGUMENT", "iam.example.test"]);
  assert.deepEqual(
    fields.fieldViolations.map(({ field, description }) => [field, description]),
    [["name", "so nicht"]],
  );
});

test("an unknown method or service is UNIMPLEMENTED with details", async () => {
  await using echo = await openEcho();
  for (const path of [`${groups}/Nothing`, "/no.such.Service/Method", "/nothing", "/chainguard.platform.libraries.Entitlements/List"]) {
    const { error } = await call(echo, path, GetGroupRequestSchema, { uid: "x".repeat(200_000) }, GroupSchema);
    assert.equal(error?.code, status.UNIMPLEMENTED, path);
    assert.equal(detailsOf(error).length, 1);
  }
});

test("an internal fault is INTERNAL and hides its cause", async () => {
  await using echo = await openEcho();
  const { error } = await call(echo, `${groups}/GetGroup`, GetGroupRequestSchema, { uid: "boom" }, GroupSchema);
  assert.equal(error?.code, status.INTERNAL);
  assert.doesNotMatch(JSON.stringify(error.metadata), /secret/);
  assert.deepEqual(
    detailsOf(error).map((detail) => (detail as { $typeName: string }).$typeName),
    ["google.rpc.ErrorInfo", "google.rpc.RequestInfo"],
  );
});

test("a message over 4 MiB is RESOURCE_EXHAUSTED", async () => {
  await using echo = await openEcho();
  const description = "x".repeat(4 * 1024 * 1024);
  for (const algorithm of [compressionAlgorithms.identity, compressionAlgorithms.gzip]) {
    const { error } = await call(echo, `${groups}/CreateGroup`, CreateGroupRequestSchema, { group: { description } }, GroupSchema, {
      client: { "grpc.default_compression_algorithm": algorithm },
    });
    assert.equal(error?.code, status.RESOURCE_EXHAUSTED);
  }
  assert.equal(echo.calls.length, 0);
});

test("the caller's deadline and the server's limit end a call", async () => {
  await using echo = await openEcho();
  const { error } = await call(echo, `${groups}/GetGroup`, GetGroupRequestSchema, { uid: "never" }, GroupSchema, { deadline: Date.now() + 50 });
  assert.equal(error?.code, status.DEADLINE_EXCEEDED);
  await using strict = await openEcho({ bounds: { callDeadlineMs: 30 } });
  const own = await call(strict, `${groups}/GetGroup`, GetGroupRequestSchema, { uid: "never" }, GroupSchema, { deadline: Date.now() + 60_000 });
  assert.equal(own.error?.code, status.DEADLINE_EXCEEDED);
  assert.equal(detailsOf(own.error).length, 1);
});

test("a caller that disconnects gets no response, and the server continues", async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  await using echo = await openEcho(
    {},
    {
      serve: async () => {
        asked.resolve();
        await gate.promise;
        return { message: { uid: "late" } };
      },
    },
  );
  const client = new Client(`127.0.0.1:${echo.port}`, credentials.createInsecure());
  const outcome = Promise.withResolvers<number | undefined>();
  const pending = client.makeUnaryRequest(
    `${groups}/GetGroup`,
    () => Buffer.alloc(0),
    (bytes) => bytes,
    {},
    (error) => outcome.resolve(error?.code),
  );
  await asked.promise;
  pending.cancel();
  assert.equal(await outcome.promise, status.CANCELLED);
  gate.resolve();
  client.close();
  assert.equal((await call(echo, `${groups}/GetGroup`, GetGroupRequestSchema, {}, GroupSchema)).message?.uid, "late");
});

interface Told {
  readonly head: IncomingHttpHeaders & { ":status"?: number | undefined };
  readonly trailers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Makes a call with raw bytes. */
const raw = async (echo: Echo, headers: Record<string, string>, chunks: Buffer[], end = true): Promise<Told> => {
  const session = connectHttp2(echo.url);
  const stream: ClientHttp2Stream = session.request({
    ":method": "POST",
    ":path": `${groups}/GetGroup`,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  let head: Told["head"] = {};
  let trailers: IncomingHttpHeaders = {};
  const received: Buffer[] = [];
  stream
    .on("response", (got) => (head = got))
    .on("trailers", (got) => (trailers = got))
    .on("data", (chunk: Buffer) => received.push(chunk));
  stream.on("error", () => {});
  for (const chunk of chunks) stream.write(chunk);
  if (end) stream.end();
  await once(stream, "close");
  session.destroy();
  return { head, trailers: { ...head, ...trailers }, bytes: Buffer.concat(received) };
};

const request = frameMessage(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: "a" })));

test("a message is read byte by byte", async () => {
  await using echo = await openEcho();
  const { trailers, bytes } = await raw(
    echo,
    {},
    [...request].map((byte) => Buffer.from([byte])),
  );
  assert.equal(trailers["grpc-status"], "0");
  const [answer] = frameReader(1000).push(bytes);
  assert.equal(answer && fromBinary(GroupSchema, answer.bytes).uid, "a");
});

const wrong: [title: string, headers: Record<string, string>, chunks: Buffer[], code: number][] = [
  ["no message", {}, [], status.UNIMPLEMENTED],
  ["two messages", {}, [request, request], status.UNIMPLEMENTED],
  ["half a message", {}, [request.subarray(0, 6)], status.INVALID_ARGUMENT],
  ["a message that is no protobuf", {}, [frameMessage(Buffer.from([0xff, 0xff, 0xff]))], status.INVALID_ARGUMENT],
  ["text that is not UTF-8", {}, [frameMessage(Buffer.from([0x0a, 2, 0xff, 0xfe]))], status.INVALID_ARGUMENT],
  ["an unknown compression", { "grpc-encoding": "snappy" }, [request], status.UNIMPLEMENTED],
  ["a compressed message without a compression", {}, [Buffer.concat([Buffer.from([1]), request.subarray(1)])], status.INVALID_ARGUMENT],
  ["a compressed flag of 2", { "grpc-encoding": "gzip" }, [Buffer.concat([Buffer.from([2]), request.subarray(1)])], status.INVALID_ARGUMENT],
  ["a compressed flag of 255", {}, [Buffer.concat([Buffer.from([255]), request.subarray(1)])], status.INVALID_ARGUMENT],
  ["a message that is no gzip", { "grpc-encoding": "gzip" }, [Buffer.concat([Buffer.from([1]), request.subarray(1)])], status.INVALID_ARGUMENT],
  ["a deadline that is no time", { "grpc-timeout": "soon" }, [request], status.INVALID_ARGUMENT],
  ["a length of 4 GiB", {}, [Buffer.from([0, 0xff, 0xff, 0xff, 0xff])], status.RESOURCE_EXHAUSTED],
];
for (const [title, headers, chunks, code] of wrong) {
  test(`${title} is refused with status ${code}, details and HTTP 200`, async () => {
    await using echo = await openEcho();
    const { head, trailers, bytes } = await raw(echo, headers, chunks);
    assert.equal(head[":status"], 200);
    assert.equal(trailers["grpc-status"], String(code), String(trailers["grpc-message"]));
    assert.ok(trailers["grpc-status-details-bin"]);
    assert.equal(head["grpc-accept-encoding"], "identity,gzip");
    assert.equal(bytes.length, 0);
  });
}

test("an error before the end of the request closes the stream, which stops a flood", async () => {
  await using echo = await openEcho();
  const { trailers } = await raw(echo, { ":path": "/no.such.Service/Method" }, [request], false);
  assert.equal(trailers["grpc-status"], String(status.UNIMPLEMENTED));
});

test("other protocols on a gRPC path get 415", async () => {
  await using echo = await openEcho();
  for (const type of ["application/grpc-web", "application/grpc+json", "application/json", "text/plain"]) {
    const { head } = await raw(echo, { "content-type": type }, [request]);
    assert.equal(head[":status"], 415, type);
  }
  const { head } = await raw(echo, { "content-type": "application/grpc+proto; charset=utf-8" }, [request]);
  assert.equal(head[":status"], 200);
});

test("health is open, per service and overall", async () => {
  let ready = true;
  await using echo = await openEcho({}, { ready: async () => ready });
  const check = (service: string) => call(echo, "/grpc.health.v1.Health/Check", HealthCheckRequestSchema, { service }, HealthCheckResponseSchema);
  assert.equal((await check("")).message?.status, Serving.SERVING);
  assert.equal((await check("chainguard.platform.iam.v2.GroupsService")).message?.status, Serving.SERVING);
  assert.equal((await check("nothing")).error?.code, status.NOT_FOUND);
  const { message } = await call(echo, "/grpc.health.v1.Health/List", HealthListRequestSchema, {}, HealthListResponseSchema);
  assert.ok(Object.keys(message?.statuses ?? {}).length > 17);
  ready = false;
  assert.equal((await check("")).message?.status, Serving.NOT_SERVING);
  assert.equal(echo.calls.length, 0);
});

test("watching health reports each change, and the stop of the server", async () => {
  let ready = true;
  const echo = await openEcho({}, { ready: async () => ready });
  const client = new Client(`127.0.0.1:${echo.port}`, credentials.createInsecure());
  const watch = client.makeServerStreamRequest(
    "/grpc.health.v1.Health/Watch",
    (message: MessageShape<typeof HealthCheckRequestSchema>) => Buffer.from(toBinary(HealthCheckRequestSchema, message)),
    (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes),
    create(HealthCheckRequestSchema, {}),
  );
  const heard: Serving[] = [];
  let wake = (): void => {};
  watch
    .on("error", () => {})
    .on("data", (message: MessageShape<typeof HealthCheckResponseSchema>) => {
      heard.push(message.status);
      wake();
    });
  const upTo = async (count: number): Promise<void> => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const ended = once(watch, "end");
  await upTo(1);
  ready = false;
  await upTo(2);
  ready = true;
  await upTo(3);
  const outcome = new Promise<{ code: number }>((resolve) => watch.on("status", resolve));
  const closed = echo.close();
  await upTo(4);
  assert.equal((await outcome).code, status.UNAVAILABLE);
  await ended.catch(() => {});
  assert.deepEqual(heard, [Serving.SERVING, Serving.NOT_SERVING, Serving.SERVING, Serving.NOT_SERVING]);
  client.close();
  await closed;
});

const buf = async (...args: string[]): Promise<{ code: number; out: string }> => {
  try {
    const { stdout } = await promisify(execFile)("node_modules/.bin/buf", args, { cwd: new URL("../..", import.meta.url) });
    return { code: 0, out: stdout };
  } catch (error) {
    const failed = error as { code: number; stderr: string };
    return { code: failed.code, out: failed.stderr };
  }
};

test("buf curl discovers the contract by reflection and calls it", async () => {
  await using echo = await openEcho();
  const flags = ["curl", "--protocol", "grpc", "--http2-prior-knowledge"];
  for (const reflection of ["grpc-v1", "grpc-v1alpha"]) {
    const { code, out } = await buf(...flags, "--reflect-protocol", reflection, "-d", '{"uid":"abc"}', `${echo.url}${groups}/GetGroup`);
    assert.equal(code, 0, out);
    assert.equal(JSON.parse(out).uid, "abc");
  }
  const listed = await buf(...flags, "--list-services", echo.url);
  assert.match(listed.out, /chainguard\.platform\.registry\.v2\.ReposService\n/);
  assert.match(listed.out, /grpc\.health\.v1\.Health\n/);
  const refused = await buf(...flags, "-d", '{"uid":"unauthenticated"}', `${echo.url}${groups}/GetGroup`);
  assert.notEqual(refused.code, 0);
  assert.match(refused.out, /"code": "unauthenticated"/);
});

test("reflection returns NOT_FOUND for unknown names and keeps the stream open", async () => {
  await using echo = await openEcho();
  const { ServerReflectionRequestSchema, ServerReflectionResponseSchema } = await import("#contract/gen/grpc/reflection/v1/reflection_pb.js");
  const ask = (messageRequest: MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]) =>
    frameMessage(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, messageRequest ? { messageRequest } : {})));
  const { bytes, trailers } = await raw(echo, { ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" }, [
    ask({ case: "fileContainingSymbol", value: "no.such.Thing" }),
    ask({ case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" }),
    ask({ case: "fileContainingExtension", value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 50101 } }),
    ask({ case: "fileByFilename", value: "google/api/http.proto" }),
  ]);
  assert.equal(trailers["grpc-status"], "0");
  const answers = frameReader(4 * 1024 * 1024)
    .push(bytes)
    .map((got) => fromBinary(ServerReflectionResponseSchema, got.bytes).messageResponse);
  assert.deepEqual(
    answers.map((answer) => answer.case),
    ["errorResponse", "allExtensionNumbersResponse", "fileDescriptorResponse", "fileDescriptorResponse"],
  );
  const nothing = await raw(echo, { ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" }, [ask(undefined)]);
  assert.equal(nothing.trailers["grpc-status"], String(status.INVALID_ARGUMENT));
});
