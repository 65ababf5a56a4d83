// One kept HTTP/1.1 connection with one request at a time, read with as little work as can be: two hundred of them share
// the machine with the server that they are to load.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** What Retry-After says; 0 where it says nothing. */
  readonly retryAfterMs: number;
}

export interface HttpConnection {
  /** Sends the bytes of a request and waits for its whole answer, on a new connection where the last one has ended. */
  send(request: Buffer): Promise<Answer>;
  close(): void;
}

/** The bytes of a request. No token: no Authorization. */
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
    // One connection at a time, also where its end takes a while.
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
