// A syslog receiver: a real server on loopback, over TCP or TLS, that records complete messages.

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface SyslogReceiver {
  readonly port: number;
  readonly messages: string[];
  readonly connections: () => number;
  /** Handles received bytes; returns true to continue, false if it has taken over the connection. */
  take: (socket: Socket, received: number) => boolean;
  close(): Promise<void>;
}

/** RFC 6587 §3.4.1: splits bytes into messages and an incomplete rest; throws on invalid framing. */
const splitFrames = (bytes: Buffer): { readonly messages: string[]; readonly rest: Buffer } => {
  const messages: string[] = [];
  let rest = bytes;
  for (;;) {
    const blank = rest.indexOf(" ");
    if (blank === -1) return { messages, rest };
    const digits = rest.subarray(0, blank).toString();
    if (!/^[1-9]\d{0,8}$/.test(digits)) throw new Error(`no length: ${digits}`);
    const end = blank + 1 + Number(digits);
    if (rest.length < end) return { messages, rest };
    messages.push(rest.subarray(blank + 1, end).toString());
    rest = rest.subarray(end);
  }
};

export const openSyslogReceiver = async (tls?: {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert?: boolean;
}): Promise<SyslogReceiver> => {
  const sockets = new Set<Socket>();
  const messages: string[] = [];
  let connections = 0;
  const receiver: Pick<SyslogReceiver, "take"> = { take: () => true };
  const serve = (socket: Socket): void => {
    connections++;
    sockets.add(socket);
    let rest: Buffer = Buffer.alloc(0);
    let received = 0;
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (!receiver.take(socket, received)) return;
      const split = splitFrames(Buffer.concat([rest, chunk]));
      messages.push(...split.messages);
      rest = split.rest;
    });
  };
  const server: Server = tls ? createTlsServer(tls, serve) : createServer(serve);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return Object.assign(receiver, {
    port: (server.address() as AddressInfo).port,
    messages,
    connections: () => connections,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  });
};
