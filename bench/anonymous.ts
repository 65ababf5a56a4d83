// Variants for anonymous-body: the server's CPU time for an unauthenticated request, with the largest allowed body and without
// one. Over REST each request has its own connection, because the response closes it without reading the body; over gRPC all are
// streams of one.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Environment, Measure, Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { openHttpConnection, requestBytes } from "./http-connection.ts";

/** Below the rate at which error responses are delayed (server/kernel/refusal-pace.ts). */
const perSecond = 200;
/** Ticks of 10 ms (`man 5 proc`). */
const tickMs = 10;

const processorMs = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
};

const perRequest = async ({ process: { pid } }: Fixture, send: () => Promise<void>, seconds: number): Promise<number> => {
  const count = Math.max(perSecond, Math.round(seconds * perSecond));
  const before = await processorMs(pid);
  const beganMs = performance.now();
  for (let index = 0; index < count; index++) {
    const waitMs = beganMs + (index * 1000) / perSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    await send();
  }
  return ((await processorMs(pid)) - before) / count;
};

const unknownKeys = JSON.stringify(Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`key${index}`, 1])));

/** A message of two million empty fields, compressed to 4 KB and framed for gRPC. */
const packedFrame = (): Buffer => {
  const message = gzipSync(Buffer.alloc(4_000_000, Buffer.from([0x0a, 0x00])));
  const head = Buffer.alloc(5);
  head.writeUInt8(1, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

const restVariant = (label: string, body: string): Variant => ({
  label,
  unit: "ms",
  async prepare(environment: Environment): Promise<Measure> {
    const fixture = await environment.blank();
    const { url } = fixture.process;
    const bytes = requestBytes(`${url}/registry/v2/repos/${fixture.of(0).uid}`, "POST", undefined, body);
    const send = async (): Promise<void> => {
      const connection = openHttpConnection(url);
      const { status } = await connection.send(bytes);
      if (status !== 401) throw new Error(`a request without a token was answered with ${status}`);
      connection.close();
    };
    return (seconds) => perRequest(fixture, send, seconds);
  },
});

const sendFrame = async (session: ClientHttp2Session, frame: Buffer | undefined): Promise<void> => {
  const stream = session.request({
    ":method": "POST",
    ":path": "/chainguard.platform.registry.v2.ReposService/CreateRepo",
    "content-type": "application/grpc",
    "grpc-encoding": "gzip",
    te: "trailers",
  });
  stream.on("error", () => {});
  if (frame) stream.end(frame);
  else stream.end();
  stream.resume();
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  if (headers["grpc-status"] !== "16" && headers["grpc-status"] !== 16) throw new Error(`grpc-status ${String(headers["grpc-status"])}`);
  if (!stream.closed) await once(stream, "close");
};

const grpcVariant = (label: string, frame: Buffer | undefined): Variant => ({
  label,
  unit: "ms",
  async prepare(environment: Environment): Promise<Measure> {
    const fixture = await environment.blank();
    return async (seconds) => {
      const session = connect(fixture.process.url);
      try {
        return await perRequest(fixture, () => sendFrame(session, frame), seconds);
      } finally {
        session.close();
      }
    };
  },
});

export const anonymousVariants: Readonly<Record<string, Variant>> = {
  anonymousEmpty: restVariant("refused, REST, without a body", ""),
  anonymousBody: restVariant("refused, REST, 80,000 unknown keys", unknownKeys),
  anonymousStream: grpcVariant("refused, gRPC, without a message", undefined),
  anonymousFrame: grpcVariant("refused, gRPC, 4 KB that unpack to 4 MB", packedFrame()),
};
