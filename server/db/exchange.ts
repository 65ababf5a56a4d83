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
  /** A statement was answered. */
  isHeard: boolean;
  /** When the timer is due. */
  dueMs: number;
  /** Shared by all statements in flight: one each would cost more than the statement. */
  timer: NodeJS.Timeout | undefined;
  readonly expire: () => void;
}

const watches = new WeakMap<pg.ClientBase, Watch>();

export interface ExchangeWatches {
  /** @param answerMs if the connection has a limit of its own */
  add(client: pg.Client, answerMs?: number): void;
  /** Returns whether an open connection other than `except` has answered a statement since then. */
  isHeardSince(ms: number, except: pg.Client | undefined): boolean;
  /** Statements in flight fail with `error` (default: SilentDatabase). @param unheardSinceMs spares connections that were heard since */
  cut(error?: Error, unheardSinceMs?: number): void;
  ended(): Promise<void>;
}

export const cutClient = (client: pg.Client, error: Error = new SilentDatabase()): void => void client.connection.stream.destroy(error);

const startTimer = (watch: Watch, ms: number): void => {
  watch.dueMs = performance.now() + ms;
  watch.timer = setTimeout(watch.expire, ms);
  watch.timer.unref();
};

export const openExchangeWatches = (limitMs: number): ExchangeWatches => {
  const open = new Set<Watch>();
  const waiting: (() => void)[] = [];

  const expire = (watch: Watch): void => {
    watch.timer = undefined;
    if (watch.inFlight === 0) return;
    const nowMs = performance.now();
    // After a pause of this process, the response may be there, unread.
    const leftMs = nowMs - watch.dueMs > watch.limitMs / 8 ? watch.limitMs / 8 : watch.turnMs + watch.limitMs - nowMs;
    if (leftMs > 0) {
      startTimer(watch, leftMs);
      return;
    }
    cutClient(watch.client);
    // Connections idle since before are most likely dead too.
    for (const other of open) if (other.inFlight === 0 && other.heardMs < watch.turnMs) cutClient(other.client);
  };

  return {
    add(client, answerMs = limitMs) {
      const watch: Watch = {
        client,
        limitMs: Math.min(answerMs, limitMs),
        inFlight: 0,
        turnMs: 0,
        heardMs: performance.now(),
        isHeard: false,
        dueMs: 0,
        timer: undefined,
        expire: () => expire(watch),
      };
      open.add(watch);
      watches.set(client, watch);
      client.once("end", () => {
        clearTimeout(watch.timer);
        open.delete(watch);
        if (open.size === 0) for (const resolve of waiting.splice(0)) resolve();
      });
    },
    isHeardSince(ms, except) {
      for (const watch of open) if (watch.client !== except && watch.isHeard && watch.heardMs >= ms) return true;
      return false;
    },
    cut(error, unheardSinceMs = Number.POSITIVE_INFINITY) {
      for (const { client, heardMs } of open) if (heardMs < unheardSinceMs) cutClient(client, error);
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
  watch.isHeard = true;
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
