// A connection pooler for PostgreSQL in session or transaction mode. It speaks PostgreSQL's protocol, version 3, without
// passwords.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import pg from "pg";

export interface Pooler {
  readonly url: string;
  close(): Promise<void>;
}

export interface PoolerOptions {
  readonly mode: "session" | "transaction";
  /** Which idle connection is used next. */
  readonly next: "latest" | "oldest";
  readonly size: number;
}

interface Backend {
  readonly client: pg.Client;
  readonly stream: Socket;
  user: ((frame: Buffer) => void) | undefined;
}

const splitFrames = (take: (frame: Buffer) => void): ((bytes: Buffer) => void) => {
  let held = Buffer.alloc(0);
  return (bytes) => {
    held = Buffer.concat([held, bytes]);
    while (held.length >= 5 && held.length >= 1 + held.readInt32BE(1)) {
      const length = 1 + held.readInt32BE(1);
      take(held.subarray(0, length));
      held = held.subarray(length);
    }
  };
};

const sslRequest = 80_877_103;
/** AuthenticationOk, BackendKeyData with an unused process ID, ReadyForQuery. */
const welcome = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x4b, 0, 0, 0, 12, 0x7f, 0, 0, 1, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

export const openPooler = async (databaseUrl: string, { mode, next, size }: PoolerOptions): Promise<Pooler> => {
  const backends: Backend[] = [];
  for (let n = 0; n < size; n++) {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on("error", () => {});
    await client.connect();
    const stream = client.connection.stream as Socket;
    const backend: Backend = { client, stream, user: undefined };
    // From here on its messages go to the pooler's clients.
    stream.removeAllListeners("data");
    stream.on(
      "data",
      splitFrames((frame) => backend.user?.(frame)),
    );
    backends.push(backend);
  }
  const atRest = [...backends];
  const waiting: ((backend: Backend) => void)[] = [];
  const release = (backend: Backend): void => {
    backend.user = undefined;
    const first = waiting.shift();
    if (first) first(backend);
    else atRest.push(backend);
  };
  const sockets = new Set<Socket>();

  const server = createServer((socket) => {
    sockets.add(socket);
    let backend: Backend | undefined;
    let unanswered = 0;
    let queue: Buffer[] | undefined;
    const answer = (frame: Buffer): void => {
      socket.write(frame);
      if (frame[0] !== 0x5a) return;
      unanswered--;
      if (mode === "session" || unanswered > 0 || frame[5] !== 0x49 || backend === undefined) return;
      release(backend);
      backend = undefined;
    };
    const take = (given: Backend): void => {
      backend = given;
      given.user = answer;
      for (const frame of queue ?? []) given.stream.write(frame);
      queue = undefined;
    };
    const receive = (frame: Buffer): void => {
      if (frame[0] === 0x58) return;
      if (frame[0] === 0x51 || frame[0] === 0x53) unanswered++;
      if (backend) {
        backend.stream.write(frame);
        return;
      }
      if (queue) {
        queue.push(frame);
        return;
      }
      queue = [frame];
      const given = next === "latest" ? atRest.pop() : atRest.shift();
      if (given) take(given);
      else waiting.push(take);
    };
    const frames = splitFrames(receive);
    const begin = (bytes: Buffer): void => {
      if (bytes.readInt32BE(4) === sslRequest) {
        socket.write("N");
        return;
      }
      socket.off("data", begin).on("data", frames);
      socket.write(welcome);
    };
    socket.on("data", begin).on("error", () => {});
    socket.once("close", () => {
      sockets.delete(socket);
      if (backend) release(backend);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const listening = server.address();
  return {
    url: `postgresql://gantry@127.0.0.1:${typeof listening === "object" ? listening?.port : ""}/pooled?sslmode=disable`,
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const { stream } of backends) stream.destroy();
      server.close();
      await once(server, "close");
    },
  };
};
