// Determines which host in DATABASE_URL is the primary.
//
// Each host is queried once a second on its own connection: is it a standby, and if not, what is its timeline? PostgreSQL increments the
// timeline with every promotion, so a former primary has a lower one. A slow primary keeps its connections. They move only to a better
// host, never because of a timeout alone.
//
// In compatible databases without timelines, the first host that is not a standby counts.

import { limits } from "#base/limits.ts";
import { type Log, silent } from "#base/log.ts";
import type { Metrics } from "#metrics";
import pg from "pg";
import { columns, expression, flag, number, text } from "./columns.ts";
import { beginSession, clientConfigOf } from "./connection.ts";
import { sendStatement } from "./driver-internals.ts";
import { type ExchangeWatches, openExchangeWatches } from "./exchange.ts";
import { brokenConnection, sqlState } from "./faults.ts";
import { type Host, readHosts } from "./hosts.ts";

export interface Primary {
  readonly known: Host | undefined;
  /** Throws if no host is one. */
  find(): Promise<Host>;
  /** All hosts are queried now instead of within a second. */
  doubt(): void;
  /** Called on failover: connections to the former primary are obsolete. */
  onMove(cut: () => void): void;
  close(): Promise<void>;
}

/** "" and 0 if the database does not report it. */
export interface Place {
  readonly system: string;
  readonly timeline: number;
  /** Bytes of WAL written, or replayed by a standby. */
  readonly position: number;
}

export type HostState = ({ readonly is: "primary" } & Place) | ({ readonly is: "standby" } & Place) | { readonly is: "away"; readonly error: unknown };

/** Has PostgreSQL's code for a server that is starting, because a primary may follow. */
export class NoPrimary extends Error {
  readonly code = "57P03";
}

const recovery = columns({ isStandby: expression("pg_is_in_recovery()", flag) });
const recoveryText = `select ${recovery.list}`;

const ownSystem = expression("(select system_identifier::text from pg_control_system())", text);

// In the name of the current WAL file, in hexadecimal.
const written = columns({
  system: ownSystem,
  timeline: expression("left(pg_walfile_name(pg_current_wal_lsn()), 8)", text),
  position: expression("pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')", number),
});
const writtenText = `select ${written.list}`;

// From its last restart point, which lags behind replay.
const replayed = columns({
  system: ownSystem,
  timeline: expression("(select greatest(timeline_id, min_recovery_end_timeline) from pg_control_checkpoint() cross join pg_control_recovery())", number),
  position: expression("coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)", number),
});
const replayedText = `select ${replayed.list}`;

/** Missing, not implemented, or not permitted. */
const tellsNoPlace = (thrown: unknown): boolean => /^(42883|0A000|42501)$/.test(sqlState(thrown));

/** "outdated": another host was promoted after it. "foreign": a primary of another cluster. */
const standings = ["primary", "standby", "away", "outdated", "foreign", "unheard"] as const;
type Standing = (typeof standings)[number];

const nowhere: Place = { system: "", timeline: 0, position: 0 };

export interface Asked {
  readonly host: Host;
  readonly ask: () => Promise<HostState>;
  readonly watches: ExchangeWatches;
  readonly close: () => void;
}

interface WatchedHost extends Asked {
  /** Undefined if it has not responded yet. */
  state: HostState | undefined;
  standing: Standing;
  asking: Promise<void> | undefined;
}

export const openAsked = (host: Host, answerMs: number): Asked => {
  const watches = openExchangeWatches(answerMs);
  let connected: pg.Client | undefined;

  const drop = (client: pg.Client): void => {
    if (connected === client) connected = undefined;
    client.end().catch(() => {});
  };

  const connect = async (): Promise<pg.Client> => {
    if (connected) return connected;
    const client = new pg.Client({ ...clientConfigOf(host.url), connectionTimeoutMillis: answerMs });
    watches.add(client);
    // Without a listener an error would end the process.
    client.on("error", () => drop(client));
    try {
      await client.connect();
      await beginSession(client, { statementTimeoutMs: answerMs, anyServer: true });
    } catch (error) {
      drop(client);
      throw error;
    }
    connected = client;
    return client;
  };

  const read = async (client: pg.Client): Promise<HostState> => {
    const [first] = await sendStatement(client, undefined, recoveryText, []);
    const is = first === undefined || recovery.read(first).isStandby ? "standby" : "primary";
    try {
      const [row] = await sendStatement(client, undefined, is === "standby" ? replayedText : writtenText, []);
      if (row === undefined) return { is, ...nowhere };
      if (is === "standby") return { is, ...replayed.read(row) };
      const { timeline, ...place } = written.read(row);
      return { is, ...place, timeline: Number.parseInt(timeline, 16) || 0 };
    } catch (error) {
      if (tellsNoPlace(error)) return { is, ...nowhere };
      throw error;
    }
  };

  const ask = async (): Promise<HostState> => {
    const late = setTimeout(() => watches.cut(), answerMs);
    try {
      const client = await connect();
      return await read(client).catch((error: unknown) => {
        drop(client);
        throw error;
      });
    } catch (error) {
      return { is: "away", error };
    } finally {
      clearTimeout(late);
    }
  };

  const close = (): void => {
    if (connected) drop(connected);
  };
  return { host, ask, watches, close };
};

export const awayText = (error: unknown): string => {
  const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error), code: "" };
  return message || code || "it does not respond";
};

/** A permanent error, such as a wrong password, is returned as is. */
const noPrimary = (hosts: readonly WatchedHost[]): unknown => {
  for (const { state } of hosts) if (state?.is === "away" && sqlState(state.error) !== "" && !brokenConnection(state.error)) return state.error;
  const each = hosts.map(({ host, state }) => `${host.name} ${state?.is === "away" ? `is away (${awayText(state.error)})` : "is a standby"}`);
  return new NoPrimary(`none of its hosts is a primary: ${each.join(", ")}`);
};

const doubtMs = limits.primaryLookMs / 4;

const watchHosts = (hosts: readonly Host[], log: Log, answerMs: number, metrics: Metrics | undefined): Primary => {
  const watched = hosts.map((host): WatchedHost => ({ ...openAsked(host, answerMs), state: undefined, standing: "unheard", asking: undefined }));
  const moved: (() => void)[] = [];
  let waiting: (() => void)[] = [];
  let current: WatchedHost | undefined;
  let system = "";
  let timeline = 0;
  let closed = false;

  const become = (next: WatchedHost, state: HostState & { readonly is: "primary" }): void => {
    const before = current;
    current = next;
    system = state.system;
    timeline = state.timeline;
    for (const resolve of waiting) resolve();
    waiting = [];
    if (before === undefined) return;
    log("store.primary", { host: next.host.name, timeline, before: before.host.name });
    for (const cut of moved) cut();
  };

  const consider = (): void => {
    // The first to respond may be a former primary.
    if (current === undefined && watched.some(({ state }) => state === undefined)) return;
    let best: { readonly each: WatchedHost; readonly state: HostState & { readonly is: "primary" } } | undefined;
    for (const each of watched) {
      const { state } = each;
      if (state?.is !== "primary" || (system !== "" && state.system !== system) || state.timeline < timeline) continue;
      const isBetter = best === undefined || state.timeline > best.state.timeline || (state.timeline === best.state.timeline && each === current);
      if (isBetter && (best === undefined || best.state.system === state.system)) best = { each, state };
    }
    if (best === undefined) return;
    // With the same timeline, neither was promoted after the other.
    if (best.each === current) timeline = best.state.timeline;
    else become(best.each, best.state);
  };

  const standingOf = (each: WatchedHost): Standing => {
    const { state } = each;
    if (state?.is !== "primary" || current === undefined || each === current) return state?.is ?? "unheard";
    if (state.system !== system) return "foreign";
    return state.timeline < timeline ? "outdated" : "primary";
  };

  /** A healthy start is not logged. */
  const tell = (): void => {
    for (const each of watched) {
      const { host, state, standing: before } = each;
      const standing = standingOf(each);
      if (standing === before) continue;
      each.standing = standing;
      if (state?.is === "away") log("store.host.away", { host: host.name, error: awayText(state.error) });
      else if (standing === "outdated") log("store.host.outdated", { host: host.name, primary: current?.host.name });
      else if (standing === "foreign") log("store.host.foreign", { host: host.name });
      else if (before === "away") log("store.host.back", { host: host.name, is: standing });
    }
  };

  const ask = (each: WatchedHost): Promise<void> => {
    each.asking ??= each.ask().then((state) => {
      each.asking = undefined;
      if (closed) return;
      each.state = state;
      consider();
      tell();
    });
    return each.asking;
  };

  const askAll = (): Promise<unknown> => Promise.all(watched.map(ask));

  const timer = setInterval(() => void askAll(), limits.primaryLookMs).unref();
  let doubtedMs = Number.NEGATIVE_INFINITY;
  const currentHost = (): Host | undefined => current?.host;
  metrics?.watch("gantry_database_hosts", () =>
    standings.map((state) => ({ labels: { state }, value: watched.filter(({ standing }) => standing === state).length })),
  );
  metrics?.watch("gantry_standby_behind_bytes", () => {
    const written = current?.state?.is === "primary" ? current.state.position : 0;
    const behind = watched.flatMap(({ state }) => (state?.is === "standby" ? [Math.max(0, written - state.position)] : []));
    return behind.length === 0 ? [] : [{ labels: {}, value: Math.max(...behind) }];
  });

  return {
    get known() {
      return currentHost();
    },
    async find() {
      if (currentHost() === undefined) await Promise.race([askAll(), new Promise<void>((resolve) => waiting.push(resolve))]);
      const found = currentHost();
      if (found === undefined) throw noPrimary(watched);
      return found;
    },
    doubt() {
      const nowMs = performance.now();
      if (closed || nowMs - doubtedMs < doubtMs) return;
      doubtedMs = nowMs;
      void askAll();
    },
    onMove(cut) {
      moved.push(cut);
    },
    async close() {
      closed = true;
      clearInterval(timer);
      // They may never respond.
      for (const { asking, close, watches } of watched)
        if (asking === undefined) close();
        else watches.cut();
      const late = setTimeout(() => {
        for (const { watches } of watched) watches.cut();
      }, limits.storeCloseMs);
      await Promise.all(watched.flatMap(({ asking, watches }) => [asking, watches.ended()]));
      clearTimeout(late);
    },
  };
};

/** Returns a Primary of one host. Each connection checks for itself whether it is a primary. */
export const onlyHost = (host: Host): Primary => ({ known: host, find: async () => host, doubt: () => {}, onMove: () => {}, close: async () => {} });

export const openPrimary = (hosts: readonly [Host, ...Host[]], log: Log, answerMs: number = limits.hostAnswerMs, metrics?: Metrics): Primary =>
  hosts.length === 1 ? onlyHost(hosts[0]) : watchHosts(hosts, log, answerMs, metrics);

export const readHostStates = async (hosts: readonly Host[]): Promise<HostState[]> => {
  const watched = hosts.map((host) => openAsked(host, limits.hostAnswerMs));
  try {
    return await Promise.all(watched.map(({ ask }) => ask()));
  } finally {
    for (const { close } of watched) close();
  }
};

export const findPrimaryUrl = async (databaseUrl: string): Promise<string> => {
  const primary = openPrimary(readHosts("DATABASE_URL", databaseUrl), silent);
  try {
    return (primary.known ?? (await primary.find())).url;
  } finally {
    await primary.close();
  }
};
