// The time that an exchange with PostgreSQL has on our side. PostgreSQL ends a statement by itself (statement_timeout), but
// where packets are swallowed on the way nobody learns of that, and TCP alone waits for a quarter of an hour. A connection
// answers its statements one after the other, so the first in flight has the time, from its turn on; a connection on which
// it passes is cut, and made anew by whoever needs it next.

import type pg from "pg";

/** The error of statements whose connection was cut because no answer came. With a code of Node's, so that it counts as broken. */
export class SilentDatabase extends Error {
  readonly code = "ETIMEDOUT";
  constructor() {
    super("the database has not answered in time");
  }
}

/** The error of statements whose connection was cut because another host has become the primary. */
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
  /** When the turn of the first statement in flight began; like the next by performance.now(). */
  turnMs: number;
  /** When an answer came last. */
  heardMs: number;
  /** One for as many statements as come while it runs: one for each would cost more than the statement. */
  timer: NodeJS.Timeout | undefined;
  readonly expire: () => void;
}

const watches = new WeakMap<pg.ClientBase, Watch>();

/** The connections of one process to one database. */
export interface ExchangeWatches {
  /** Watches a client from its making to its end. */
  add(client: pg.Client): void;
  /** Cuts every connection at once. `error`: of what is in flight on them; that no answer came, where nothing is said. */
  cut(error?: Error): void;
  /** Resolves when no connection is open. */
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
    // What has been idle since before is most likely as dead, and nobody should have to wait to find that out.
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

/** A statement goes out on a connection. */
export const beginExchange = (client: pg.ClientBase): void => {
  const watch = watches.get(client);
  if (watch === undefined) return;
  if (watch.inFlight++ === 0) watch.turnMs = performance.now();
  if (watch.timer === undefined) startTimer(watch, watch.limitMs);
};

/** It was answered, or its connection has ended. Returns when its turn began, by performance.now(); 0 where nobody watches. */
export const endExchange = (client: pg.ClientBase): number => {
  const watch = watches.get(client);
  if (watch === undefined) return 0;
  const { turnMs } = watch;
  watch.inFlight--;
  watch.turnMs = watch.heardMs = performance.now();
  return turnMs;
};

/** Sends something by the driver's own means. */
export const exchange = async <T>(client: pg.ClientBase, send: () => Promise<T>): Promise<T> => {
  beginExchange(client);
  try {
    return await send();
  } finally {
    endExchange(client);
  }
};
