import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { unauthenticated } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { CreateGroupRequestSchema } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { CreateIdentityRequestSchema } from "#contract/gen/chainguard/platform/iam/v2/identities_pb.js";
import { ListReposRequestSchema } from "#contract/gen/chainguard/platform/registry/v2/repos_pb.js";
import { jsonExcess } from "./budget.ts";
import { decodeWithin } from "./decode.ts";
import { type Echo, exchangeRaw, openEcho } from "./echo.fixture.ts";
import { frameMessage } from "./frames.ts";
import { fc } from "../../test/property.ts";

const budget = { valuesMax: 10, depthMax: 4 };
const tooMany = "contains more than 10 keys and elements";
const excess = (text: string): string | undefined => jsonExcess(Buffer.from(text), budget);

/** Members and elements; an empty list or object counts as one. */
const valuesOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0;
  const inner: unknown[] = Object.values(value);
  return Math.max(1, inner.length) + inner.reduce<number>((sum, entry) => sum + valuesOf(entry), 0);
};

test("keys and elements of JSON are counted as its parser finds them, whatever its strings contain", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const values = valuesOf(value);
      assert.equal(jsonExcess(bytes, { valuesMax: values, depthMax: 100 }), undefined);
      if (values > 0) assert.ok(jsonExcess(bytes, { valuesMax: values - 1, depthMax: 100 }));
    }),
  );
  assert.equal(excess(`[${"1,".repeat(9)}1]`), undefined);
  assert.equal(excess(`[${"1,".repeat(10)}1]`), tooMany);
  assert.equal(excess(`{"a":"${"[,".repeat(50)}\\"${",{".repeat(50)}"}`), undefined);
  assert.equal(excess("[[[[1]]]]"), undefined);
  assert.equal(excess("[[[[[1]]]]]"), "is nested more than 4 levels deep");
});

test("counting stops at the first value over the limit", () => {
  let looked = 0;
  const bytes = new Proxy(Buffer.from(`[${"0,".repeat(100_000)}0]`), {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) looked++;
      const value: unknown = Reflect.get(target, key, target);
      return value;
    },
  });
  assert.equal(jsonExcess(bytes, budget), tooMany);
  assert.ok(looked < 100, `${looked} bytes`);
});

const ids = (count: number): Uint8Array => toBinary(ListReposRequestSchema, create(ListReposRequestSchema, { uidp: { ids: Array(count).fill("abcdefgh") } }));

test("a protobuf message decodes up to the limit of fields and elements, including nested ones", () => {
  const fine = decodeWithin(ListReposRequestSchema, ids(9), budget);
  assert.ok(typeof fine !== "string" && fine.uidp?.ids.length === 9);
  assert.equal(decodeWithin(ListReposRequestSchema, ids(10), budget), tooMany);
});

test("unknown fields, including groups, are counted and skipped", () => {
  const unknown = Buffer.from([0xf8, 0x3f, 0x01]);
  const few = Buffer.concat([unknown, unknown, unknown, unknown]);
  const message = decodeWithin(CreateGroupRequestSchema, few, budget);
  assert.ok(typeof message !== "string" && message.$unknown === undefined);
  assert.equal(decodeWithin(CreateGroupRequestSchema, Buffer.concat(Array(11).fill(unknown)), budget), tooMany);
  assert.equal(decodeWithin(CreateGroupRequestSchema, Buffer.concat([Buffer.from([0xfb, 0x3f]), ...Array(11).fill(unknown)]), budget), tooMany);
});

test("the count matches the decoder: records that it would read differently are rejected", () => {
  const tail = Buffer.alloc(40, Buffer.from([0xf8, 0x3f, 0x01]));
  for (const [title, bytes] of [
    // An integer in place of a message: the decoder reads it as the message's length.
    ["another wire type", Buffer.concat([Buffer.from([0x10, 0x01]), tail])],
    ["a message longer than what holds it", Buffer.concat([Buffer.from([0x12, 0x04, 0x0a, 0x7f]), tail])],
    ["a number that goes on behind its message", Buffer.concat([Buffer.from([0x12, 0x03, 0xf8, 0x3f, 0x81]), tail])],
  ] as const)
    assert.match(String(decodeWithin(CreateGroupRequestSchema, bytes, { valuesMax: 30, depthMax: 4 })), /^is not a valid /, title);
});

test("a message within its budget decodes as without one", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 20 }), fc.dictionary(fc.string(), fc.string(), { maxKeys: 8 }), (audiences, claims) => {
      const bytes = toBinary(
        CreateIdentityRequestSchema,
        create(CreateIdentityRequestSchema, { parent: audiences.join(), identity: { name: "x".repeat(200), description: JSON.stringify(claims) } }),
      );
      assert.deepEqual(decodeWithin(CreateIdentityRequestSchema, bytes, { valuesMax: 150, depthMax: 10 }), fromBinary(CreateIdentityRequestSchema, bytes));
    }),
  );
});

// ---- over the wire ----------------------------------------------------------------------------------------------------

const good = "Bearer good";
const open = (bounds = {}): Promise<Echo> =>
  openEcho(
    { bounds },
    {
      authenticate: ({ authorization, method }) => {
        if (!method.open && authorization !== good) throw unauthenticated("authentication required");
      },
    },
  );

const packed = (bytes: Uint8Array): Buffer => {
  const framed = frameMessage(gzipSync(bytes, { level: 9 }));
  framed[0] = 1;
  return framed;
};
/** Two million unknown fields in about four kilobytes. */
const bomb = packed(Buffer.alloc(4 * 1024 * 1024 - 4, Buffer.from([0x78, 0x01])));

const grpcStatus = async (echo: Echo, sent: readonly Buffer[], headers: Record<string, string> = {}): Promise<(string | undefined)[]> => {
  const session = connectHttp2(echo.url);
  const answers = await Promise.all(
    sent.map(async (bytes) => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/chainguard.platform.iam.v2.GroupsService/CreateGroup",
        "content-type": "application/grpc",
        "grpc-encoding": "gzip",
        te: "trailers",
        ...headers,
      });
      stream.on("error", () => {}).resume();
      let status: string | undefined;
      const note = (got: IncomingHttpHeaders): void => {
        if (got["grpc-status"] !== undefined) status = String(got["grpc-status"]);
      };
      stream.on("response", note).on("trailers", note);
      stream.end(bytes);
      await once(stream, "close");
      return status;
    }),
  );
  session.destroy();
  return answers;
};

const processorMs = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

test("attack 47: fifteen compressed frames of an unauthenticated client cost as little as empty ones", async () => {
  await using echo = await open();
  assert.ok(bomb.length < 5000);
  const empty = frameMessage(Buffer.alloc(0));
  const send = (bytes: Buffer) => async () => {
    for (let turn = 0; turn < 10; turn++) assert.deepEqual(await grpcStatus(echo, Array(15).fill(bytes)), Array(15).fill("16"));
  };
  await send(empty)();
  const alone = await processorMs(send(empty));
  const flooded = await processorMs(send(bomb));
  assert.ok(flooded <= 3 * alone, `${flooded} ms instead of ${alone}`);
});

test("attack 47: an authenticated compressed frame stays within the memory of all bodies, is not decoded, and is released", async () => {
  await using echo = await open();
  assert.deepEqual(await grpcStatus(echo, Array(15).fill(bomb), { authorization: good }), Array(15).fill("3"));
  assert.deepEqual(
    echo.calls.map(({ request, problems }) => [request, problems]),
    Array(15).fill([{}, [{ field: "body", description: `contains more than ${limits.messageValuesMax} keys and elements` }]]),
  );
  await using small = await open({ streamsMax: 3, bodyBytesMax: 1024 * 1024 });
  for (let turn = 0; turn < 5; turn++) assert.deepEqual(await grpcStatus(small, [bomb], { authorization: good }), ["14"], "more than fits");
  const fine = packed(toBinary(CreateGroupRequestSchema, create(CreateGroupRequestSchema, { group: { name: "x".repeat(2_900_000) } })));
  for (let turn = 0; turn < 5; turn++) assert.deepEqual(await grpcStatus(small, [fine], { authorization: good }), ["0"]);
});

test("attack 47: an open operation reads at most 64 KiB, compressed or not, over every protocol", async () => {
  await using echo = await open();
  const open64 = { ":path": "/chainguard.platform.oidc.SecurityTokenService/Exchange" };
  const reflection = { ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" };
  const health = { ":path": "/grpc.health.v1.Health/Check" };
  for (const headers of [open64, reflection, health])
    for (const bytes of [frameMessage(Buffer.alloc(limits.openBytesMax + 1)), packed(Buffer.alloc(limits.openBytesMax + 1))])
      assert.deepEqual(await grpcStatus(echo, [bytes], headers), ["8"], headers[":path"]);
  for (const path of ["/sts/exchange", "/oauth/token", "/oauth/device_authorization"])
    for (const [bytes, refused] of [
      [limits.openBytesMax + 1, true],
      [limits.openBytesMax, false],
    ] as const) {
      const type = "content-type: application/x-www-form-urlencoded";
      const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${type}\r\ncontent-length: ${bytes}\r\n\r\n`;
      assert.equal((await exchangeRaw(echo, head + "x".repeat(bytes))).startsWith("HTTP/1.1 413"), refused, path);
    }
});

test("attack 48: a body of 80,000 unknown keys is rejected before parsing, with a bounded number of violations", async () => {
  await using echo = await open();
  const send = (keys: number): Promise<string> => {
    const body = JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, 1])));
    return exchangeRaw(
      echo,
      `POST /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nauthorization: ${good}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  };
  assert.match(await send(80_000), /^HTTP\/1\.1 400 [\s\S]*contains more than 10000 keys and elements/);
  assert.match(await send(9_000), /^HTTP\/1\.1 400 [\s\S]*unknown field/);
  assert.deepEqual(
    echo.calls.map(({ problems }) => problems.length),
    [1, limits.violationsMax],
  );
});

test("attack 48: lists of 68,000 uids over gRPC are rejected before decoding", async () => {
  await using echo = await open();
  const headers = { ":path": "/chainguard.platform.registry.v2.ReposService/ListRepos" };
  const lists = Array(20).fill(frameMessage(ids(68_000)));
  const each = async (some: readonly Buffer[], more: Record<string, string>) =>
    (await Promise.all(some.map((list) => grpcStatus(echo, [list], { ...headers, ...more })))).flat();
  assert.deepEqual(await each(lists, {}), Array(20).fill("16"));
  assert.deepEqual(await each(lists.slice(0, 3), { authorization: good }), ["3", "3", "3"]);
  assert.deepEqual(
    echo.calls.map(({ request }) => request),
    [{}, {}, {}],
  );
});
