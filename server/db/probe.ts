// Probes the database on a dedicated connection: behind other statements it would measure load, and a load balancer would remove a busy
// server and overload the others. The database has failed if it refuses connections or changes, or if the probe and all pools are
// silent. A silent database is also refused to requests, and all its connections are cut, because none would ever respond.

import { limits } from "#base/limits.ts";
import { type Dependency, onBeat } from "#health";
import pg from "pg";
import { columns, expression, flag, text, timeMs } from "./columns.ts";
import { beginSession, clientConfigOf } from "./connection.ts";
import { sendStatement } from "./driver-internals.ts";
import { cutClient, type ExchangeWatches, SilentDatabase } from "./exchange.ts";
import { snapshotText } from "./changes.ts";
import { readOnly } from "./faults.ts";
import { awayText, type Primary } from "./primary.ts";

export interface Probe {
  /** Waits for the first probe only. Never throws. */
  isReady(): Promise<boolean>;
  /** Requests must fail at once. */
  readonly isSilent: boolean;
  /** The database may be silent: a full queue is not the client's fault. */
  readonly isStalled: boolean;
  /** Another host is the primary: it was not silent. */
  moved(): void;
  close(): Promise<void>;
}

export interface ProbeOptions {
  readonly dependency: Dependency;
  readonly silentMs?: number | undefined;
  /** Called with the database's clock, and the round trip that it was read in. */
  readonly onTime?: ((databaseMs: number, roundTripMs: number) => void) | undefined;
  /** Called with the primary's snapshot, which changes at the end of each writing transaction. */
  readonly onSnapshot?: ((snapshot: string) => void) | undefined;
}

// Read-only: a standby, or a primary with default_transaction_read_only set.
const state = columns({
  isReadOnly: expression("current_setting('transaction_read_only')::boolean", flag),
  nowMs: timeMs("clock_timestamp()"),
  snapshot: expression(snapshotText, text),
});
const stateText = `select ${state.list}`;
const stateName = "probe";

/** Of the time that makes a database silent. With it, a failure is found within 3 s. */
const restShare = 0.45;

// Silence is counted in ticks, not by the clock: after a pause of this process the response may be there, unread.
const silentTicks = 8;
/** A new connection responds faster than a busy one. */
const silentTicksAgain = 4;
const stalledTicks = 3;

export const openProbe = (
  primary: Primary,
  watches: ExchangeWatches,
  { dependency, silentMs = limits.databaseSilentMs, onTime = () => {}, onSnapshot = () => {} }: ProbeOptions,
): Probe => {
  const first = Promise.withResolvers<void>();
  let client: pg.Client | undefined;
  let isConnected = false;
  let asking = false;
  let ticks = 0;
  let isSilent = false;
  let closed = false;
  let stopBeat: (() => void) | undefined;
  // Runs only while a response is awaited or the database has failed.
  let timer: NodeJS.Timeout | undefined;

  const drop = (which: pg.Client | undefined): void => {
    if (which === undefined) return;
    if (client === which) {
      client = undefined;
      isConnected = false;
    }
    which.end().catch(() => {});
  };

  const connect = async (): Promise<pg.Client> => {
    if (client !== undefined && isConnected) return client;
    const { url } = primary.known ?? (await primary.find());
    const opened = new pg.Client(clientConfigOf(url));
    client = opened;
    watches.add(opened);
    opened.on("error", () => drop(opened));
    try {
      await opened.connect();
      await beginSession(opened, { statementTimeoutMs: silentMs });
    } catch (error) {
      drop(opened);
      throw error;
    }
    isConnected = client === opened;
    return opened;
  };

  const read = async (): Promise<boolean> => {
    const connected = await connect();
    try {
      const sentMs = performance.now();
      const [row] = await sendStatement(connected, stateName, stateText, []);
      const { isReadOnly, nowMs, snapshot } = state.read(row ?? []);
      onTime(nowMs, performance.now() - sentMs);
      // A new connection finds the new primary.
      if (isReadOnly) drop(connected);
      else onSnapshot(snapshot);
      return isReadOnly;
    } catch (error) {
      drop(connected);
      throw error;
    }
  };

  const heard = (): boolean => watches.isHeardSince(performance.now() - silentMs, client);

  const judge = (isReadOnly: boolean): void => {
    if (isReadOnly) dependency.bad("it is read-only");
    else dependency.good();
    if (!dependency.isFailed) isSilent = false;
  };

  const fail = (error: unknown): void => {
    // A database that refuses connections fails requests at once by itself.
    if (!(error instanceof SilentDatabase)) isSilent = false;
    primary.doubt();
    // Without a free connection for the probe, the pools still work.
    if (readOnly(error) || !heard()) dependency.bad(awayText(error));
  };

  const ask = async (): Promise<void> => {
    asking = true;
    ticks = 0;
    timer ??= setInterval(tick, silentMs / silentTicks).unref();
    try {
      const had = isConnected;
      const askedMs = performance.now();
      const isReadOnly = await read().catch(async (error: unknown) => {
        // This connection is dead, and a new one may work.
        if (!had || isSilent) throw error;
        ticks = 0;
        const again = await read();
        // The network dropped all older connections, perhaps while this one already waited.
        if (error instanceof SilentDatabase) watches.cut(error, askedMs + silentMs / 4);
        return again;
      });
      if (!closed) judge(isReadOnly);
    } catch (error) {
      if (!closed) fail(error);
    } finally {
      asking = false;
      if (closed || !dependency.isFailed) {
        clearInterval(timer);
        timer = undefined;
      }
      first.resolve();
    }
  };

  const tick = (): void => {
    if (!asking) {
      void ask();
      return;
    }
    if (++ticks < (isSilent ? silentTicksAgain : silentTicks)) return;
    ticks = 0;
    if (heard()) {
      if (client) cutClient(client);
      return;
    }
    isSilent = true;
    dependency.bad("it does not respond");
    first.resolve();
    primary.doubt();
    watches.cut();
  };

  return {
    async isReady() {
      if (closed) return false;
      if (stopBeat === undefined) {
        stopBeat = onBeat(silentMs * restShare, () => void (asking || dependency.isFailed || ask()));
        void ask();
      }
      await first.promise;
      return !closed && !dependency.isFailed;
    },
    get isSilent() {
      return isSilent;
    },
    get isStalled() {
      return isSilent || (asking && ticks >= stalledTicks);
    },
    moved() {
      isSilent = false;
    },
    async close() {
      closed = true;
      stopBeat?.();
      clearInterval(timer);
      if (asking && client) cutClient(client);
      else drop(client);
    },
  };
};
