// Connection pools: pipelined connections for cheap reads, others for wide reads and transactions. Measured: pipelining doubles reads,
// while writes need many connections for group commit.

import { setTimeout as sleep } from "node:timers/promises";
import { type FairQueueLimits, openFairQueue, type FairnessKey } from "#base/fair-queue.ts";
import { Fault, internal } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { waitForDatabase } from "#calls";
import { type Health, unreported } from "#health";
import type { Metrics } from "#metrics";
import pg from "pg";
import { beginSession, clientConfigOf } from "./connection.ts";
import { corkUntilEndOfTick, type OutgoingStatement, outgoing, sendStatement, sendStatements } from "./driver-internals.ts";
import { exchange, type ExchangeWatches, MovedDatabase, openExchangeWatches, SilentDatabase } from "./exchange.ts";
import { brokenConnection, databaseFault, isOutcomeUnknown, isStatementTimeout, lostRace, outcomeUnknown, readOnly, stalePlan, unreachable } from "./faults.ts";
import type { LaggingCopy, Param, Read, Row, Rows, StatementCost, Write } from "./handle.ts";
import type { Host } from "./hosts.ts";
import { onlyHost, type Primary } from "./primary.ts";
import { openProbe, type Probe, type ProbeOptions } from "./probe.ts";
import { openReplica, type Replica } from "./replica.ts";
import { openStatementCosts } from "./statement-costs.ts";
import { atEndOfTick } from "./tick.ts";

export const serverParty: FairnessKey = { organization: "server", identity: "", own: true };

export interface Connections extends Pick<Probe, "isReady"> {
  forParty(fairnessKey: FairnessKey): Rows;
  /** The database may be silent. */
  isStalled(): boolean;
  /** Waits up to limits.storeCloseMs for running statements. */
  close(): Promise<void>;
}

// A connection keeps prepared statements forever. Beyond this number they are sent unnamed.
const namedStatementsMax = 2_000;

// Sent with their text until the connection has prepared them.
const begin = { name: "begin", text: "begin isolation level read committed read write" };
const beginReading = { name: "begin_reading", text: "begin isolation level read committed read only" };
const commit = { name: "commit", text: "commit" };

/** Generic warnings. Gantry's statements raise none; a commit raises only one. */
const warningCode = "01000";

const makeStatementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= namedStatementsMax) return known;
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  };
};

const pageReadTurns = ({ share }: Siblings, isStalled: () => boolean): FairQueueLimits => ({
  isStalled,
  name: "organization-pages",
  what: "lists are asked for",
  places: share(limits.pageRows),
  placesEach: share(limits.pageRowsEach),
  placesAlone: share(limits.pageRowsEach),
  waiting: share(limits.callsWaiting),
  waitingEach: share(limits.callsWaitingEach),
  waitMs: limits.turnWaitMs,
});

const wideReadTurns = ({ share }: Siblings, isStalled: () => boolean): FairQueueLimits => ({
  isStalled,
  name: "organization-wide-reads",
  what: "lists of many rows are asked for",
  places: share(limits.wideReadConnections),
  placesEach: share(limits.wideReadsEach),
  placesAlone: share(limits.wideReadsAlone),
  waiting: share(limits.wideReadsWaiting),
  waitingEach: share(limits.wideReadsWaitingEach),
  waitMs: limits.turnWaitMs,
});

const writeTurns = ({ share }: Siblings, isStalled: () => boolean): FairQueueLimits => ({
  isStalled,
  name: "organization-writes",
  what: "changes are made",
  places: share(limits.writeConnections),
  placesEach: share(limits.writesEach),
  placesAlone: share(limits.writesAlone),
  waiting: share(limits.writesWaiting),
  waitingEach: share(limits.writesWaitingEach),
  waitMs: limits.turnWaitMs,
});

interface ReadKind {
  readonly connections: number;
  readonly statementTimeoutMs: number;
  /** Client-side timeout of a response. */
  readonly answerMs: number;
  /** Reads of one tick that share a connection; a slow one delays only these. */
  readonly readsPerWriteMax: number;
}

const cheapReads = ({ share }: Siblings): ReadKind => ({
  connections: share(limits.readConnections),
  statementTimeoutMs: limits.cheapReadTimeoutMs,
  answerMs: limits.databaseSilentMs,
  readsPerWriteMax: 8,
});
const wideReads = ({ share }: Siblings): ReadKind => ({
  connections: share(limits.wideReadConnections),
  statementTimeoutMs: limits.statementTimeoutMs,
  answerMs: limits.databaseAnswerMs,
  readsPerWriteMax: 1,
});

/** Connects on first use and after a failure. */
interface ReadConnection {
  client: Promise<pg.Client> | undefined;
  ready: pg.Client | undefined;
  inFlight: number;
}

const openReads = (
  primary: Primary,
  kind: ReadKind & { readonly anyServer?: boolean },
  nameOf: (text: string) => string | undefined,
  watches: ExchangeWatches,
  log: Log,
  isSilent: () => boolean = () => false,
) => {
  const connections: ReadConnection[] = Array.from({ length: kind.connections }, () => ({ client: undefined, ready: undefined, inFlight: 0 }));
  let closed = false;

  const detach = (connection: ReadConnection, client: Promise<pg.Client>): void => {
    if (connection.client !== client) return;
    connection.client = undefined;
    connection.ready = undefined;
  };

  const connect = (connection: ReadConnection): Promise<pg.Client> => {
    if (connection.client !== undefined) return connection.client;
    const connecting = (async () => {
      // No await in between: clients of the former primary are cut on failover.
      const client = new pg.Client(clientConfigOf((primary.known ?? (await primary.find())).url));
      watches.add(client, kind.answerMs);
      client.on("error", (error) => {
        detach(connection, connecting);
        primary.doubt();
        if (!closed) log("store.connection.lost", { error: error.message });
      });
      try {
        await client.connect();
        await beginSession(client, {
          statementTimeoutMs: kind.statementTimeoutMs,
          settings: "set default_transaction_read_only = on;",
          anyServer: kind.anyServer === true,
        });
      } catch (error) {
        client.end().catch(() => {});
        primary.doubt();
        throw error;
      }
      return client;
    })();
    connection.client = connecting;
    connecting.then(
      (client) => {
        if (connection.client === connecting) connection.ready = client;
      },
      () => detach(connection, connecting),
    );
    return connecting;
  };

  /** Running statements may finish. */
  const retire = (connection: ReadConnection, client: Promise<pg.Client>): void => {
    if (connection.client !== client) return;
    detach(connection, client);
    client.then((opened) => opened.end()).catch(() => {});
  };

  const leastLoaded = (): ReadConnection => {
    let best = connections[0] as ReadConnection;
    for (const connection of connections) if (connection.inFlight < best.inFlight) best = connection;
    return best;
  };

  let tick: { readonly connection: ReadConnection; reads: number } | undefined;
  const connectionOfTick = (): ReadConnection => {
    if (tick && tick.reads < kind.readsPerWriteMax) {
      tick.reads++;
      return tick.connection;
    }
    const connection = leastLoaded();
    tick = { connection, reads: 1 };
    atEndOfTick(() => {
      tick = undefined;
    });
    return connection;
  };

  const attempt = async (text: string, values: readonly Param[]): Promise<Row[]> => {
    const connection = connectionOfTick();
    connection.inFlight++;
    try {
      const connecting = connect(connection);
      // No await if connected, so that statements of a tick are written together.
      const client =
        connection.ready ??
        (await waitForDatabase(connecting).catch((error: unknown) => {
          throw error instanceof MovedDatabase ? error : unreachable(error);
        }));
      try {
        corkUntilEndOfTick(client);
        return await sendStatement(client, nameOf(text), text, values);
      } catch (error) {
        if (brokenConnection(error) || stalePlan(error)) retire(connection, connecting);
        throw error;
      }
    } finally {
      connection.inFlight--;
    }
  };

  const query = async (text: string, values: readonly Param[]): Promise<Row[]> => {
    if (closed) throw new Fault("UNAVAILABLE", "the server is stopping");
    if (isSilent()) throw unreachable(new SilentDatabase());
    try {
      return await attempt(text, values);
    } catch (error) {
      // Reads have no side effects and are retried once, except if the database was silent.
      if (error instanceof Fault || error instanceof SilentDatabase || !(brokenConnection(error) || stalePlan(error))) throw databaseFault(error);
    }
    return attempt(text, values).catch((error: unknown) => {
      throw databaseFault(error);
    });
  };

  const close = async (): Promise<void> => {
    closed = true;
    await Promise.all(connections.map((connection) => connection.client?.then((client) => client.end()).catch(() => {})));
  };
  const inUse = (): { open: number; busy: number } => ({
    open: connections.filter(({ ready }) => ready !== undefined).length,
    busy: connections.filter(({ inFlight }) => inFlight > 0).length,
  });
  return { query, close, inUse };
};

type Reads = Pick<ReturnType<typeof openReads>, "query">;

class PartyRead implements Read {
  readonly shared: Read;
  readonly #reads: SharedReads;
  readonly #fairnessKey: FairnessKey;
  readonly #copy: ReplicaReads | undefined;

  constructor(reads: SharedReads, fairnessKey: FairnessKey, { shared, copy }: { readonly shared?: Read; readonly copy?: ReplicaReads | undefined } = {}) {
    this.#reads = reads;
    this.#fairnessKey = fairnessKey;
    this.shared = shared ?? this;
    this.#copy = copy;
  }

  get lagging(): LaggingCopy | undefined {
    const asOfMs = this.#copy?.replica.asOfMs;
    if (this.#copy === undefined || asOfMs === undefined) return undefined;
    const { replica, reads } = this.#copy;
    return { read: new PartyRead(reads, this.#fairnessKey), asOfMs, fail: (error) => replica.fail(error) };
  }

  query(text: string, values: readonly Param[] = [], cost?: StatementCost): Promise<Row[]> {
    return this.#reads.query(this.#fairnessKey, text, values, cost);
  }
}

interface ReplicaReads {
  readonly replica: Replica;
  readonly reads: SharedReads;
}

interface SharedReads {
  query(fairnessKey: FairnessKey, text: string, values: readonly Param[], cost: StatementCost | undefined): Promise<Row[]>;
}

const shareReads = (cheap: Reads, wide: Reads, siblings: Siblings, metrics: Metrics | undefined, isStalled: () => boolean = () => false): SharedReads => {
  const costs = openStatementCosts();
  const pageTurns = openFairQueue(pageReadTurns(siblings, isStalled));
  const wideTurns = openFairQueue(wideReadTurns(siblings, isStalled));
  metrics?.watchQueue(pageTurns);
  metrics?.watchQueue(wideTurns);

  const queryPage = async (fairnessKey: FairnessKey, text: string, values: readonly Param[], rows: number): Promise<Row[]> => {
    // A larger list would block the pages of others.
    const work = { places: Math.min(rows, siblings.share(limits.pageRowsEach)) };
    if (!pageTurns.tryAcquire(fairnessKey, work)) await waitForDatabase(pageTurns.wait(fairnessKey, work));
    try {
      return await cheap.query(text, values);
    } finally {
      pageTurns.leave(fairnessKey, work);
    }
  };

  const queryWide = async (fairnessKey: FairnessKey, text: string, values: readonly Param[]): Promise<Row[]> => {
    if (!wideTurns.tryAcquire(fairnessKey)) await waitForDatabase(wideTurns.wait(fairnessKey));
    const startedMs = performance.now();
    try {
      const rows = await wide.query(text, values);
      costs.measured(fairnessKey.organization, text, values, performance.now() - startedMs);
      return rows;
    } finally {
      wideTurns.leave(fairnessKey);
    }
  };

  return {
    async query(fairnessKey, text, values, cost) {
      if (costs.isWide(fairnessKey.organization, text, values, cost?.wide ?? false)) return queryWide(fairnessKey, text, values);
      try {
        return await (cost ? queryPage(fairnessKey, text, values, cost.rows) : cheap.query(text, values));
      } catch (thrown) {
        // The read was more expensive than estimated, or followed one that was canceled while being prepared. Retry it with a longer timeout.
        if (!(thrown instanceof Fault && (isStatementTimeout(thrown.cause) || stalePlan(thrown.cause)))) throw thrown;
        costs.late(fairnessKey.organization, text);
        return queryWide(fairnessKey, text, values);
      }
    },
  };
};

/** Each message has its own timeout. */
const statementsTogetherMax = 100;

/** Even if the work swallowed it. */
interface Failure {
  readonly error: unknown;
  readonly fault: unknown;
  /** Not awaited: its error is thrown at the end of the transaction. */
  readonly isUntold: boolean;
}

interface Transaction {
  readonly rows: Write;
  /** Returns false if there was nothing to commit. Throws if a statement failed. */
  commit(): Promise<boolean>;
  /** Returns the first driver error and the fault to throw. */
  end(thrown: unknown): Promise<{ readonly error: unknown; readonly fault: unknown; readonly isRolledBack: boolean }>;
}

/**
 * Statements are sent together at the end of the tick in which one is awaited, the first with `begin` and the last with `commit`. A
 * transaction that needs no results takes one round trip.
 */
const openTransaction = (client: pg.PoolClient, nameOf: (text: string) => string | undefined, opening: typeof begin): Transaction => {
  const collected: OutgoingStatement[] = [];
  let failure: Failure | undefined;
  let isRunning = true;
  let hasBegun = false;
  let beginning: Promise<void> | undefined;
  let isSendingSoon = false;
  let isCommitSent = false;

  const note = (error: unknown, fault: unknown, isUntold: boolean): void => {
    failure ??= { error, fault, isUntold };
  };
  const firstFailure = (): Failure | undefined => failure;

  const send = (): void => {
    // Nothing may run outside the transaction.
    while (collected.length > 0 && !beginning) {
      const statements = collected.splice(0, statementsTogetherMax);
      if (failure) for (const { failed } of statements) failed(failure.error);
      else {
        isCommitSent ||= statements.at(-1)?.text === commit.text;
        if (hasBegun) sendStatements(client, statements);
        else beginWith(statements);
      }
    }
  };

  const beginWith = (statements: readonly OutgoingStatement[]): void => {
    beginning = new Promise((resolve) => {
      const begun = (): void => {
        hasBegun = true;
        beginning = undefined;
        resolve();
      };
      const failed = (error: unknown): void => {
        note(error, databaseFault(error), false);
        begun();
      };
      sendStatements(client, [{ ...opening, values: [], call: undefined, answered: begun, failed }, ...statements]);
    });
    void beginning.then(send);
  };

  const collect = (statement: OutgoingStatement): void => {
    if (!isRunning) throw internal(new Error("a statement came after its transaction had ended"));
    collected.push(statement);
  };

  const rows: Write = {
    writes: true,
    send(text, values, faultOf = databaseFault, answered = () => {}) {
      const failed = (error: unknown): void => note(error, faultOf(databaseFault(error)), true);
      collect(outgoing(nameOf(text), text, values, answered, failed));
    },
    query: (text, values = []) =>
      new Promise((resolve, reject) => {
        if (failure) throw databaseFault(failure.error);
        const failed = (error: unknown): void => {
          const fault = databaseFault(error);
          note(error, fault, false);
          reject(fault);
        };
        collect(outgoing(nameOf(text), text, values, resolve, failed));
        if (isSendingSoon) return;
        isSendingSoon = true;
        atEndOfTick(() => {
          isSendingSoon = false;
          send();
        });
      }),
  };

  const sendAll = async (): Promise<void> => {
    send();
    await beginning;
    send();
  };

  return {
    rows,
    async commit() {
      isRunning = false;
      // PostgreSQL would turn this commit into a rollback without an error.
      if (failure) throw failure.fault;
      if (!hasBegun && !beginning && collected.length === 0) return false;
      const command = await new Promise<string>((resolve) => {
        const failed = (error: unknown): void => {
          note(error, databaseFault(error), false);
          resolve("");
        };
        collected.push(outgoing(commit.name, commit.text, [], (_, tag) => resolve(tag), failed));
        send();
      });
      const failed = firstFailure();
      // Without a response, the commit may have arrived.
      if (failed && isCommitSent && opening === begin && brokenConnection(failed.error)) {
        failure = { error: failed.error, fault: outcomeUnknown(failed.error), isUntold: true };
        throw failure.fault;
      }
      // PostgreSQL has skipped the commit or rolled back.
      if (failed) throw failed.fault;
      if (command !== "COMMIT") throw internal(new Error(`the database answered a commit with ${command}`));
      return true;
    },
    async end(thrown) {
      isRunning = false;
      // Changed permissions take precedence over an error of the work.
      await sendAll();
      const isRolledBack =
        !hasBegun ||
        (await exchange(client, () => client.query("rollback")).then(
          () => true,
          () => false,
        ));
      const failed = firstFailure();
      return { error: failed?.error, fault: failed?.isUntold ? failed.fault : thrown, isRolledBack };
    },
  };
};

const openWrites = (
  primary: Primary,
  nameOf: (text: string) => string | undefined,
  watches: ExchangeWatches,
  siblings: Siblings,
  log: Log,
  metrics: Metrics | undefined,
  onCommit: () => void,
  probe: Probe,
) => {
  const warned = new WeakSet<pg.ClientBase>();

  class WatchedClient extends pg.Client {
    /** Connects to the current primary. */
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...(primary.known && { connectionString: primary.known.url }) });
      watches.add(this);
    }
  }
  const pool = new pg.Pool({
    Client: WatchedClient,
    ...clientConfigOf(""),
    max: siblings.share(limits.writeConnections),
    idleTimeoutMillis: limits.idleTimeoutMs,
    onConnect: async (client) => {
      await exchange(client, () => beginSession(client, { statementTimeoutMs: limits.statementTimeoutMs }));
    },
  });
  pool.on("error", (error) => {
    primary.doubt();
    log("store.connection.lost", { error: error.message });
  });
  // Without a listener an error of a client in use would end the process.
  pool.on("connect", (client) => {
    client.on("error", () => {});
    client.on("notice", ({ code }) => code === warningCode && warned.add(client));
  });

  const turns = openFairQueue(writeTurns(siblings, () => probe.isStalled));
  metrics?.watchQueue(turns);

  const connect = async (): Promise<pg.PoolClient> => {
    if (probe.isSilent) throw unreachable(new SilentDatabase());
    try {
      if (primary.known === undefined) await primary.find();
      return await pool.connect();
    } catch (error) {
      // Nothing was sent yet, and there is a new primary.
      if (error instanceof MovedDatabase) return connect();
      primary.doubt();
      throw unreachable(error);
    }
  };

  /** `retry` is true if another try may succeed. */
  const attempt = async <T>(opening: typeof begin, work: (rows: Write) => Promise<T>): Promise<{ result: T } | { thrown: unknown; retry: boolean }> => {
    const client = await waitForDatabase(connect());
    const transaction = openTransaction(client, nameOf, opening);
    try {
      const result = await work(transaction.rows);
      warned.delete(client);
      if (await transaction.commit()) {
        if (opening === begin) onCommit();
        // Committed on the primary only: the wait for the standby was canceled (docs/guides/several-machines.md).
        if (warned.delete(client)) throw outcomeUnknown(new Error("the change was committed and not confirmed by the standby"));
      }
      client.release();
      return { result };
    } catch (thrown) {
      const { error, isRolledBack, fault } = await transaction.end(thrown);
      const isUnusable = brokenConnection(error) || stalePlan(error) || readOnly(error);
      client.release(isUnusable || !isRolledBack);
      if (isUnusable) primary.doubt();
      if (readOnly(error)) return { thrown: unreachable(error), retry: false };
      // A plan that a migration has invalidated is dropped with its connection.
      return { thrown: fault, retry: lostRace(error) || stalePlan(error) };
    }
  };

  const transact = async <T>(fairnessKey: FairnessKey, opening: typeof begin, work: (rows: Write) => Promise<T>, row?: string): Promise<T> => {
    const place = { places: 1, row };
    if (!turns.tryAcquire(fairnessKey, place)) await waitForDatabase(turns.wait(fairnessKey, place));
    try {
      for (let tries = 1; ; tries++) {
        const startedMs = performance.now();
        const outcome = await attempt(opening, work);
        metrics?.observe("gantry_database_statement_seconds", { pool: "writes" }, (performance.now() - startedMs) / 1000);
        const isCommitted = "result" in outcome;
        const isOver = isCommitted || !outcome.retry || tries >= limits.transactionTriesMax;
        const lost = isOver ? "rolled_back" : "retried";
        metrics?.count("gantry_database_transactions_total", {
          outcome: isCommitted ? "committed" : isOutcomeUnknown(outcome.thrown) ? "unknown" : lost,
        });
        if (isCommitted) return outcome.result;
        if (isOver) throw outcome.thrown;
        // So that conflicting transactions do not collide again.
        await sleep(Math.random() * 5 * 2 ** tries);
      }
    } finally {
      turns.leave(fairnessKey, place);
    }
  };
  const inUse = (): { open: number; busy: number } => ({ open: pool.totalCount, busy: pool.totalCount - pool.idleCount });
  return {
    write: <T>(fairnessKey: FairnessKey, work: (rows: Write) => Promise<T>, row?: string): Promise<T> => transact(fairnessKey, begin, work, row),
    readTogether: <T>(fairnessKey: FairnessKey, work: (rows: Read) => Promise<T>): Promise<T> => transact(fairnessKey, beginReading, work),
    close: () => pool.end(),
    inUse,
  };
};

const measured = <R extends Reads>(reads: R, pool: "reads" | "wide_reads", metrics: Metrics | undefined): Reads =>
  metrics === undefined
    ? reads
    : {
        query: async (text, values) => {
          const startedMs = performance.now();
          try {
            return await reads.query(text, values);
          } finally {
            metrics.observe("gantry_database_statement_seconds", { pool }, (performance.now() - startedMs) / 1000);
          }
        },
      };

const openReplicaReads = (
  host: Host,
  primary: Primary,
  nameOf: (text: string) => string | undefined,
  log: Log,
  databaseAnswerMs: number,
  siblings: Siblings,
  metrics: Metrics | undefined,
  health: Health,
) => {
  const watches = openExchangeWatches(databaseAnswerMs);
  const replica = openReplica(host, primary, log, health.watch("replica"), () => watches.cut());
  const open = (kind: ReadKind) => openReads(onlyHost(host), { ...kind, anyServer: true }, nameOf, watches, log);
  const [cheap, wide] = [open(cheapReads(siblings)), open(wideReads(siblings))];
  const close = async (): Promise<void> => {
    const late = setTimeout(() => watches.cut(), limits.storeCloseMs);
    await Promise.all([cheap.close(), wide.close(), replica.close()]);
    await watches.ended();
    clearTimeout(late);
  };
  metrics?.watch("gantry_replica_behind_seconds", () => {
    const { asOfMs } = replica;
    return asOfMs === undefined ? [] : [{ labels: {}, value: Math.max(0, Date.now() - asOfMs) / 1000 }];
  });
  return { replica, reads: shareReads(measured(cheap, "reads", metrics), measured(wide, "wide_reads", metrics), siblings, metrics), close };
};

export interface ConnectionsOptions extends Omit<ProbeOptions, "dependency"> {
  readonly log: Log;
  readonly health?: Health | undefined;
  readonly databaseAnswerMs?: number | undefined;
  readonly metrics?: Metrics | undefined;
  readonly siblings?: Siblings | undefined;
}

/** Connects on first use: an unavailable database fails calls, not this function. */
export const openConnections = (primary: Primary, replicaHost: Host | undefined, onCommit: () => void, options: ConnectionsOptions): Connections => {
  const { log, databaseAnswerMs = limits.databaseAnswerMs, metrics, siblings = alone, health = unreported() } = options;
  const nameOf = makeStatementNames();
  const watches = openExchangeWatches(databaseAnswerMs);
  const probe = openProbe(primary, watches, { ...options, dependency: health.watch("database") });
  const isSilent = (): boolean => probe.isSilent;
  primary.onMove(() => {
    probe.moved();
    watches.cut(new MovedDatabase());
  });
  const cheap = openReads(primary, cheapReads(siblings), nameOf, watches, log, isSilent);
  const wide = openReads(primary, wideReads(siblings), nameOf, watches, log, isSilent);
  const isStalled = (): boolean => probe.isStalled;
  const reads = shareReads(measured(cheap, "reads", metrics), measured(wide, "wide_reads", metrics), siblings, metrics, isStalled);
  const copy = replicaHost && openReplicaReads(replicaHost, primary, nameOf, log, databaseAnswerMs, siblings, metrics, health);
  const ownRead = new PartyRead(reads, serverParty);
  const rowsOf = new WeakMap<FairnessKey, Rows>();
  const writes = openWrites(primary, nameOf, watches, siblings, log, metrics, onCommit, probe);
  metrics?.watch("gantry_database_connections", () =>
    (
      [
        ["reads", cheap.inUse()],
        ["wide_reads", wide.inUse()],
        ["writes", writes.inUse()],
      ] as const
    ).flatMap(([pool, { open, busy }]) => [
      { labels: { pool, state: "open" as const }, value: open },
      { labels: { pool, state: "busy" as const }, value: busy },
    ]),
  );
  return {
    isReady: probe.isReady,
    isStalled,
    forParty(fairnessKey) {
      const known = rowsOf.get(fairnessKey);
      if (known) return known;
      const rows: Rows = {
        read: new PartyRead(reads, fairnessKey, { shared: ownRead, copy }),
        readTogether: (work) => writes.readTogether(fairnessKey, work),
        write: (work, row) => writes.write(fairnessKey, work, row),
      };
      rowsOf.set(fairnessKey, rows);
      return rows;
    },
    async close() {
      // Closing a dead connection would never end.
      const late = setTimeout(() => watches.cut(), limits.storeCloseMs);
      await Promise.all([probe.close(), cheap.close(), wide.close(), writes.close(), copy?.close()]);
      await watches.ended();
      clearTimeout(late);
    },
  };
};
