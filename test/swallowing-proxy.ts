// A TCP proxy for PostgreSQL that drops packets on demand, as a firewall that lost its state: open connections stay open but
// dead, new ones get no response, and later ones work.

import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { join } from "node:path";

export interface SwallowingProxy {
  readonly url: string;
  /** Drops everything from now on. */
  swallow(): void;
  /** Forwards until one connection has sent all these texts in this order, and drops everything from then on. */
  swallowAfter(...texts: readonly string[]): void;
  /** Closes all connections and rejects new ones from now on. */
  hangUp(): void;
  /** Forwards new connections from now on. */
  forward(): void;
  close(): Promise<void>;
}

export const openSwallowingProxy = async (databaseUrl: string): Promise<SwallowingProxy> => {
  const address = new URL(databaseUrl);
  const folder = address.searchParams.get("host");
  const port = Number(address.searchParams.get("port") ?? (address.port || 5432));
  const reach = (): Socket => (folder?.startsWith("/") ? connect(join(folder, `.s.PGSQL.${port}`)) : connect(port, address.hostname));
  const sockets = new Set<Socket>();
  let isDark = false;
  let isGone = false;
  let awaited: readonly string[] = [];
  let found = new WeakMap<Socket, number>();
  /** Sockets with discarded data. */
  let dead = new WeakSet<Socket>();

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  const swallow = (): void => {
    isDark = true;
    dead = new WeakSet(sockets);
  };
  const pass = (from: Socket, to: Socket, seen = (_: Buffer): void => {}): void => {
    from.on("data", (bytes: Buffer) => {
      if (dead.has(from)) return;
      to.write(bytes);
      seen(bytes);
    });
    from.once("close", () => {
      if (!dead.has(from)) to.destroy();
    });
  };
  const server = createServer((near) => {
    keep(near);
    if (isGone) {
      near.destroy();
      return;
    }
    const far = keep(reach());
    if (isDark) {
      dead.add(near);
      dead.add(far);
    }
    pass(near, far, (bytes) => {
      let count = found.get(near) ?? 0;
      for (let text = awaited[count]; text !== undefined && bytes.includes(text); text = awaited[count]) count++;
      found.set(near, count);
      if (awaited.length === 0 || count < awaited.length) return;
      awaited = [];
      swallow();
    });
    pass(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const listening = server.address();
  const url = new URL(databaseUrl);
  url.searchParams.set("host", "127.0.0.1");
  url.searchParams.set("port", String(typeof listening === "object" ? listening?.port : ""));
  if (url.hostname !== "") {
    url.hostname = "127.0.0.1";
    url.port = url.searchParams.get("port") ?? "";
    url.searchParams.delete("host");
    url.searchParams.delete("port");
  }
  return {
    url: url.href,
    swallow,
    swallowAfter(...texts) {
      awaited = texts;
      found = new WeakMap();
    },
    hangUp() {
      isGone = true;
      for (const socket of sockets) socket.destroy();
    },
    forward() {
      isDark = false;
      isGone = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
};
