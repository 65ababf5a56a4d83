// Client-side timeout of exchanges with PostgreSQL: if packets are lost, statement_timeout does not help, and TCP alone
// waits for a quarter of an hour. A connection processes statements in order, so the limit applies to the first in
// flight, from the start of its turn. On timeout the connection is cut.

import type pg from "pg";

/** The connection was cut for lack of a response. Node's code marks it as broken. */
export class SilentDatabase extends Error {
  readonly code = "ETIMEDOUT";
  constructor() {
    super("the database has not answered in time");
  }
}

/** The connection was cut because another host became the primary. */
export class MovedDatabase extends Error {
  readonly code = "ECONNRESET";
  constructor() {
    super("another host is the primary");
  }
}

interface Watch {
  readonly client: pg.Client;
  readonly limitMs: number;
  inFlight: number;
  turnMs: number;
  heardMs: number;
  /** Shared by all statements in flight: one each would cost more than the statement. */
  timer: NodeJS.Timeout | undefined;
  readonly expire: () => void;
}

const watches = new WeakMap<pg.ClientBase, Watch>();

export interface ExchangeWatches {
  add(client: pg.Client): void;
  /** Statements in flight fail with `error` (default: SilentDatabase). */
  cut(error?: Error): void;
  ended(): Promise<void>;
}

const cutConnection = ({ client }: Watch, error: Error = new SilentDatabase()): void => void client.connection.stream.destroy(error);

const startTimer = (watch: Watch, ms: number): void => {
  watch.timer = setTimeout(watch.expire, ms);
  watch.timer.unref();
};

export const openExchangeWatches = (limitMs: number): ExchangeWatches => {
  const open = new Set<Watch>();
  const waiting: (() => void)[] = [];

  const expire = (watch: Watch): void => {
    watch.timer = undefined;
    if (watch.inFlight === 0) return;
    const leftMs = watch.turnMs + limitMs - performance.now();
    if (leftMs > 0) {
      startTimer(watch, leftMs);
      return;
    }
    cutConnection(watch);
    // Connections idle since before are most likely dead too.
    for (const other of open) if (other.inFlight === 0 && other.heardMs < watch.turnMs) cutConnection(other);
  };

  return {
    add(client) {
      const watch: Watch = { client, limitMs, inFlight: 0, turnMs: 0, heardMs: performance.now(), timer: undefined, expire: () => expire(watch) };
      open.add(watch);
      watches.set(client, watch);
      client.once("end", () => {
        clearTimeout(watch.timer);
        open.delete(watch);
        if (open.size === 0) for (const resolve of waiting.splice(0)) resolve();
      });
    },
    cut(error) {
      for (const watch of open) cutConnection(watch, error);
    },
    ended: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
};

export const beginExchange = (client: pg.ClientBase): void => {
  const watch = watches.get(client);
  if (watch === undefined) return;
  if (watch.inFlight++ === 0) watch.turnMs = performance.now();
  if (watch.timer === undefined) startTimer(watch, watch.limitMs);
};

/** Returns the start of the statement's turn by performance.now(); 0 if unwatched. */
export const endExchange = (client: pg.ClientBase): number => {
  const watch = watches.get(client);
  if (watch === undefined) return 0;
  const { turnMs } = watch;
  watch.inFlight--;
  watch.turnMs = watch.heardMs = performance.now();
  return turnMs;
};

/** Watches a request through the driver's own API. */
export const exchange = async <T>(client: pg.ClientBase, send: () => Promise<T>): Promise<T> => {
  beginExchange(client);
  try {
    return await send();
  } finally {
    endExchange(client);
  }
};
