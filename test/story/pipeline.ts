// Sends thousands of HTTP requests quickly by pipelining over a few connections. A missing or invalid response fails the test with its request.

import { connect } from "node:net";

export interface PipelinedRequest {
  readonly verb: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly token?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

export interface PipelinedAnswer {
  readonly status: number;
  /** The head as received. */
  readonly head: string;
  readonly body: string;
}

const connections = 4;
/** Requests in flight per connection: more writes would contend until they are refused with a retry. */
const window = 6;

const bytesOf = ({ verb, path, token, headers = [], body }: PipelinedRequest): Buffer => {
  const payload = body === undefined ? undefined : Buffer.from(body);
  const lines = [`${verb} ${path} HTTP/1.1`, "host: x"];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (payload) lines.push(`content-length: ${payload.length}`);
  if (payload && !headers.some((line) => line.toLowerCase().startsWith("content-type:"))) lines.push("content-type: application/json");
  return Buffer.concat([Buffer.from(`${[...lines, ...headers].join("\r\n")}\r\n\r\n`, "latin1"), payload ?? Buffer.alloc(0)]);
};

const sendThrough = (port: number, all: readonly PipelinedRequest[]): Promise<PipelinedAnswer[]> =>
  new Promise((resolve, reject) => {
    const got: PipelinedAnswer[] = [];
    let sent = 0;
    let buffer: Buffer = Buffer.alloc(0);
    const socket = connect(port, "127.0.0.1");
    const fail = (why: string): void => {
      socket.destroy();
      const asked = all[got.length];
      reject(new Error(`${why}, for ${asked?.verb} ${asked?.path.slice(0, 200)} ${String(asked?.body ?? "").slice(0, 300)}`));
    };
    const send = (): void => {
      while (sent < all.length && sent - got.length < window) {
        const next = all[sent++];
        if (next) socket.write(bytesOf(next));
      }
    };
    const take = (): boolean => {
      const end = buffer.indexOf("\r\n\r\n");
      if (end < 0) return false;
      const head = buffer.toString("latin1", 0, end);
      const length = Number(/^content-length: (\d+)\r?$/im.exec(head)?.[1] ?? 0);
      if (buffer.length < end + 4 + length) return false;
      got.push({ status: Number(head.slice(9, 12)), head, body: buffer.toString("utf8", end + 4, end + 4 + length) });
      buffer = buffer.subarray(end + 4 + length);
      return true;
    };
    socket.on("connect", send);
    socket.on("data", (chunk: Buffer) => {
      buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
      while (got.length < all.length && take());
      if (got.length === all.length) {
        socket.destroy();
        resolve(got);
      } else send();
    });
    socket.on("error", (error) => fail(error.message));
    socket.on("end", () => {
      if (got.length < all.length) fail("the connection ended without an answer");
    });
    if (all.length === 0) {
      socket.destroy();
      resolve([]);
    }
  });

/** Sends all requests; returns the responses in the same order. */
export const sendAll = async (url: string, all: readonly PipelinedRequest[]): Promise<PipelinedAnswer[]> => {
  const port = Number(new URL(url).port);
  const shares = Array.from({ length: connections }, (_, share) => all.filter((_each, index) => index % connections === share));
  const answers = await Promise.all(shares.map((share) => sendThrough(port, share)));
  return all.map((_, index) => answers[index % connections]?.[Math.floor(index / connections)] ?? { status: 0, head: "", body: "" });
};
