// An OpenTelemetry collector: accepts traces as OTLP over HTTP (opentelemetry/proto/trace/v1/trace.proto) and stores their spans.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 2: server, 3: client, 4: producer. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** 2: error. */
  readonly status: number;
  /** Attributes of the sending service. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly port: number;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { readonly path: string; readonly type: string }[];
  /** Status for the next requests; "hang": no response. */
  answer: number | "hang";
  /** Waits until `holds` accepts the spans of a trace, and returns them. */
  trace(traceId: string, holds: (spans: readonly ReceivedSpan[]) => boolean): Promise<readonly ReceivedSpan[]>;
  find(holds: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  asked(): Promise<void>;
  close(): Promise<void>;
}

const passOver = (reader: BinaryReader, type: WireType): void => {
  if (type === WireType.Varint) reader.uint64();
  else if (type === WireType.Bit64) reader.fixed64();
  else if (type === WireType.Bit32) reader.fixed32();
  else reader.bytes();
};

const readFields = (bytes: Uint8Array, fields: Readonly<Record<number, (reader: BinaryReader) => void>>): void => {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const field = fields[number];
    if (field) field(reader);
    else passOver(reader, type);
  }
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

type Value = string | number | boolean;

const readAttribute = (bytes: Uint8Array, into: Record<string, Value>): void => {
  let key = "";
  let value: Value = "";
  readFields(bytes, {
    1: (reader) => (key = reader.string()),
    2: (reader) =>
      readFields(reader.bytes(), {
        1: (held) => (value = held.string()),
        2: (held) => (value = held.bool()),
        3: (held) => (value = Number(held.int64())),
        4: (held) => (value = held.double()),
      }),
  });
  into[key] = value;
};

const readSpan = (bytes: Uint8Array, resource: ReceivedSpan["resource"]): ReceivedSpan => {
  const span = { traceId: "", spanId: "", parentSpanId: "", name: "", kind: 0, startNs: 0n, endNs: 0n, status: 0 };
  const attributes: Record<string, Value> = {};
  readFields(bytes, {
    1: (reader) => (span.traceId = hex(reader.bytes())),
    2: (reader) => (span.spanId = hex(reader.bytes())),
    4: (reader) => (span.parentSpanId = hex(reader.bytes())),
    5: (reader) => (span.name = reader.string()),
    6: (reader) => (span.kind = reader.int32()),
    7: (reader) => (span.startNs = BigInt(reader.fixed64())),
    8: (reader) => (span.endNs = BigInt(reader.fixed64())),
    9: (reader) => readAttribute(reader.bytes(), attributes),
    15: (reader) => readFields(reader.bytes(), { 3: (inner) => (span.status = inner.int32()) }),
  });
  return { ...span, attributes, resource };
};

const readExport = (bytes: Uint8Array): ReceivedSpan[] => {
  const spans: ReceivedSpan[] = [];
  readFields(bytes, {
    1: (reader) => {
      const resource: Record<string, Value> = {};
      const scopes: Uint8Array[] = [];
      readFields(reader.bytes(), {
        1: (inner) => readFields(inner.bytes(), { 1: (each) => readAttribute(each.bytes(), resource) }),
        2: (inner) => scopes.push(inner.bytes()),
      });
      for (const scope of scopes) readFields(scope, { 2: (each) => spans.push(readSpan(each.bytes(), resource)) });
    },
  });
  return spans;
};

export const openOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; type: string }[] = [];
  const waiting = new Set<() => void>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({ path: request.url ?? "", type: request.headers["content-type"] ?? "" });
    const { answer } = receiver;
    if (answer === 200) spans.push(...readExport(Buffer.concat(chunks)));
    for (const look of [...waiting]) look();
    if (answer !== "hang") response.writeHead(answer, { "content-type": "application/x-protobuf" }).end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const again = (): void => {
        const found = look();
        if (found === undefined) return;
        waiting.delete(again);
        resolve(found);
      };
      waiting.add(again);
      again();
    });
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    spans,
    requests,
    answer: 200,
    trace: (traceId, holds) =>
      until(() => {
        const found = spans.filter((span) => span.traceId === traceId);
        return holds(found) ? found : undefined;
      }),
    find: (holds) => until(() => spans.find(holds)),
    asked: () => {
      const before = requests.length;
      return until(() => (requests.length > before ? true : undefined)).then(() => {});
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
};
