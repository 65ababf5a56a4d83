// A minimal HTTP/1.1 keep-alive connection with one request at a time: two hundred of them share the machine with the server
// under load.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** Retry-After in milliseconds; 0 if absent. */
  readonly retryAfterMs: number;
}

export interface HttpConnection {
  /** Sends a request and waits for the whole response, reconnecting if needed. */
  send(request: Buffer): Promise<Answer>;
  close(): void;
}

/** Returns the bytes of a request; without a token, it has no Authorization header. */
export const requestBytes = (url: string, method: string, authorization: string | undefined, body = ""): Buffer => {
  const { host, pathname, search } = new URL(url);
  const lines = [
    `${method} ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    ...(body === "" ? [] : ["content-type: application/json", `content-length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
};

const headersEnd = Buffer.from("\r\n\r\n");

const answerOf = (head: string): Answer => ({
  status: Number(head.slice(9, 12)),
  retryAfterMs: 1000 * Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? 0),
});

export const openHttpConnection = (url: string): HttpConnection => {
  const { hostname, port } = new URL(url);
  let socket: Socket | undefined;

  const opened = async (): Promise<Socket> => {
    if (socket && !socket.destroyed && socket.writable) return socket;
    // Never two connections at once, even if closing takes a while.
    if (socket && !socket.closed) await once(socket, "close");
    socket = connect(Number(port), hostname);
    socket.setNoDelay(true).on("error", () => {});
    await once(socket, "connect");
    return socket;
  };

  const read = (from: Socket): Promise<Answer> =>
    new Promise((resolve, reject) => {
      let answer: Answer | undefined;
      let missing = 0;
      let head = Buffer.alloc(0);
      const done = (result: Answer | Error): void => {
        from.off("data", take).off("close", closed);
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      const closed = (): void => done(answer ?? new Error("the connection was closed before its answer"));
      const take = (chunk: Buffer): void => {
        if (answer) missing -= chunk.length;
        else {
          head = Buffer.concat([head, chunk]);
          const end = head.indexOf(headersEnd);
          if (end < 0) return;
          const lines = head.toString("latin1", 0, end);
          answer = answerOf(lines);
          missing = Number(/\r\ncontent-length: (\d+)/i.exec(lines)?.[1] ?? 0) - (head.length - end - headersEnd.length);
          if (/\r\nconnection: close/i.test(lines)) from.end();
        }
        if (missing <= 0) done(answer);
      };
      from.on("data", take).on("close", closed);
    });

  return {
    async send(request) {
      const to = await opened();
      const answered = read(to);
      to.write(request);
      return answered;
    },
    close: () => void socket?.destroy(),
  };
};
