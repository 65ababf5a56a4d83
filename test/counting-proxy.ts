// A TCP proxy for PostgreSQL that collects the statements of each round trip (protocol version 3, prepared statements).

import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { join } from "node:path";

/** The statements that one message has sent together. */
export type RoundTrip = readonly string[];

export interface CountingProxy {
  readonly url: string;
  /** Returns the round trips since the last call. */
  take(): RoundTrip[];
  close(): Promise<void>;
}

const textAt = (bytes: Buffer, start: number): string => bytes.toString("utf8", start, bytes.indexOf(0, start));

/** Returns a reader of what a client sends; it calls `done` with the statements before each Sync. */
const readStatements = (done: (statements: RoundTrip) => void): ((bytes: Buffer) => void) => {
  const names = new Map<string, string>();
  let left: Buffer = Buffer.alloc(0);
  let statements: string[] = [];
  let isStarted = false;
  return (bytes) => {
    left = Buffer.concat([left, bytes]);
    for (;;) {
      // The first message has no type.
      const offset = isStarted ? 1 : 0;
      if (left.length < offset + 4 || left.length < offset + left.readUInt32BE(offset)) return;
      const message = left.subarray(0, offset + left.readUInt32BE(offset));
      left = left.subarray(message.length);
      const type = isStarted ? String.fromCharCode(message[0] ?? 0) : "";
      isStarted = true;
      if (type === "P") {
        const name = textAt(message, 5);
        names.set(name, textAt(message, 6 + Buffer.byteLength(name)));
      } else if (type === "B") {
        const portal = textAt(message, 5);
        statements.push(names.get(textAt(message, 6 + Buffer.byteLength(portal))) ?? "");
      } else if (type === "S") {
        done(statements);
        statements = [];
      }
    }
  };
};

export const openCountingProxy = async (databaseUrl: string): Promise<CountingProxy> => {
  const url = new URL(databaseUrl);
  const folder = url.searchParams.get("host");
  const port = Number(url.searchParams.get("port") ?? (url.port || 5432));
  const sockets = new Set<Socket>();
  let roundTrips: RoundTrip[] = [];
  const server = createServer((near) => {
    const far = folder?.startsWith("/") ? connect(join(folder, `.s.PGSQL.${port}`)) : connect(port, url.hostname);
    const read = readStatements((statements) => void roundTrips.push(statements));
    near.on("data", read);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from
        .on("error", () => {})
        .once("close", () => {
          sockets.delete(from);
          to.destroy();
        });
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const listening = server.address();
  const ownPort = String(typeof listening === "object" ? listening?.port : "");
  if (url.hostname === "") {
    url.searchParams.set("host", "127.0.0.1");
    url.searchParams.set("port", ownPort);
  } else {
    url.hostname = "127.0.0.1";
    url.port = ownPort;
    url.searchParams.delete("host");
    url.searchParams.delete("port");
  }
  return {
    url: url.href,
    take() {
      const taken = roundTrips;
      roundTrips = [];
      return taken;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
};
