// The connections: few pipelined ones for reads, a pool of ordinary ones for transactions. Measured: pipelining
// doubles reads, while writes want many connections, so that PostgreSQL commits them in groups.

import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, internal } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import pg from "pg";
import { brokenConnection, databaseFault, lostRace, readOnly, stalePlan, unreachable } from "./faults.ts";
import type { Param, Read, Row, Write } from "./handle.ts";
import { beginName, Statement } from "./statement.ts";
import { atEndOfTick } from "./tick.ts";

/** Where a database is: the driver's own words, from an address or from an embedded server's socket. */
export type DatabaseAddress = Pick<pg.ClientConfig, "connectionString" | "host" | "port" | "user" | "database" | "ssl">;

/** The connections of one process to one database. */
export interface Connections {
  readonly read: Read;
  write<T>(work: (rows: Write) => Promise<T>): Promise<T>;
  /** Lets what runs finish, then closes. */
  close(): Promise<void>;
}

/** A connection that does not answer within this time is none. */
export const connectTimeoutMs = limits.outboundTimeoutMs;

// A transaction that waits for a lock gives up before its statement does, so that the two are told apart.
const lockTimeoutMs = Math.floor((limits.statementTimeoutMs * 2) / 3);

// A connection holds each prepared statement in memory for good. Ours are a few hundred; if a caller makes up
// texts without end, those beyond this number are sent without a name.
const statementsMax = 2_000;

// Set by a statement instead of start parameters: connection poolers refuse the latter.
// Generic plans: planning anew costs more than our indexed statements take (.54 -> .60 of pgbench).
const sessionSettings = `
  set timezone = 'UTC';
  set datestyle = 'ISO';
  set client_min_messages = warning;
  set jit = off;
  set plan_cache_mode = force_generic_plan;
  set statement_timeout = ${limits.statementTimeoutMs};
  set lock_timeout = ${lockTimeoutMs};
  set idle_in_transaction_session_timeout = ${limits.statementTimeoutMs};
`;

const commitName = "commit";

const asIs = (text: string): string => text;
/** Every value as PostgreSQL's own text: parsing a timestamp to a Date and back costs more than the query. */
const texts: pg.CustomTypesConfig = { getTypeParser: () => asIs };

const settings = (place: DatabaseAddress): pg.ClientConfig => ({
  ...place,
  application_name: "gantry",
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  pipeline: true,
  types: texts,
});

/** Gives each statement's text a short name under which a connection keeps its plan. */
const statementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= statementsMax) return known;
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  };
};

/** Sends a statement. `begins`: the first of a transaction. */
const send = (client: pg.ClientBase, name: string | undefined, text: string, values: readonly Param[], begins = false): Promise<Row[]> =>
  new Promise((resolve, reject) => client.query(new Statement(name ?? "", text, values, begins, resolve, reject)));

const gathering = new WeakSet<Writable>();

/** Holds back what is written to a connection until this turn of the event loop has asked for everything it wants. */
const gather = (stream: Writable): void => {
  if (gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  atEndOfTick(() => {
    gathering.delete(stream);
    stream.uncork();
  });
};

// As many reads of one turn go out on one connection, in one write; a slow one among them holds up no more than these.
const togetherMax = 8;

/** One of the shared connections for reads. Its client is made when needed, and anew after it broke. */
interface Lane {
  client: Promise<pg.Client> | undefined;
  /** The same, once it is connected. */
  ready: pg.Client | undefined;
  inFlight: number;
}

const openReads = (place: DatabaseAddress, nameOf: (text: string) => string | undefined, log: Log) => {
  const lanes: Lane[] = Array.from({ length: limits.readConnections }, () => ({ client: undefined, ready: undefined, inFlight: 0 }));
  let closed = false;

  const drop = (lane: Lane, client: Promise<pg.Client>): void => {
    if (lane.client !== client) return;
    lane.client = undefined;
    lane.ready = undefined;
  };

  const connect = (lane: Lane): Promise<pg.Client> => {
    if (lane.client) return lane.client;
    const connecting = (async () => {
      const client = new pg.Client(settings(place));
      client.on("error", (error) => {
        drop(lane, connecting);
        if (!closed) log("store.connection.lost", { error: error.message });
      });
      try {
        await client.connect();
        await client.query(`${sessionSettings} set default_transaction_read_only = on;`);
      } catch (error) {
        client.end().catch(() => {});
        throw error;
      }
      return client;
    })();
    lane.client = connecting;
    connecting.then(
      (client) => {
        if (lane.client === connecting) lane.ready = client;
      },
      () => drop(lane, connecting),
    );
    return connecting;
  };

  /** Takes a connection out of use; what still runs on it may finish. */
  const retire = (lane: Lane, client: Promise<pg.Client>): void => {
    if (lane.client !== client) return;
    drop(lane, client);
    client.then((opened) => opened.end()).catch(() => {});
  };

  const leastLoaded = (): Lane => {
    let best = lanes[0] as Lane;
    for (const lane of lanes) if (lane.inFlight < best.inFlight) best = lane;
    return best;
  };

  let turn: { readonly lane: Lane; reads: number } | undefined;
  /** The connection of this turn of the event loop, until it has enough. */
  const laneOfTurn = (): Lane => {
    if (turn && turn.reads < togetherMax) {
      turn.reads++;
      return turn.lane;
    }
    const lane = leastLoaded();
    turn = { lane, reads: 1 };
    atEndOfTick(() => {
      turn = undefined;
    });
    return lane;
  };

  const attempt = async (text: string, values: readonly Param[]): Promise<Row[]> => {
    const lane = laneOfTurn();
    lane.inFlight++;
    try {
      const connecting = connect(lane);
      // Not awaited where it is there: what is asked at the end of a turn shall be written in it.
      const client =
        lane.ready ??
        (await connecting.catch((error: unknown) => {
          throw unreachable(error);
        }));
      try {
        gather(client.connection.stream);
        return await send(client, nameOf(text), text, values);
      } catch (error) {
        if (brokenConnection(error) || stalePlan(error)) retire(lane, connecting);
        throw error;
      }
    } finally {
      lane.inFlight--;
    }
  };

  const query = async (text: string, values: readonly Param[] = []): Promise<Row[]> => {
    if (closed) throw new Fault("UNAVAILABLE", "the server is stopping");
    try {
      return await attempt(text, values);
    } catch (error) {
      // A read changes nothing, so what its connection took down with it is asked once more.
      if (error instanceof Fault || !(brokenConnection(error) || stalePlan(error))) throw databaseFault(error);
    }
    return attempt(text, values).catch((error: unknown) => {
      throw databaseFault(error);
    });
  };

  const close = async (): Promise<void> => {
    closed = true;
    await Promise.all(lanes.map((lane) => lane.client?.then((client) => client.end()).catch(() => {})));
  };
  return { read: { query } satisfies Read, close };
};

const openWrites = (place: DatabaseAddress, nameOf: (text: string) => string | undefined, log: Log) => {
  const pool = new pg.Pool({
    ...settings(place),
    max: limits.writeConnections,
    idleTimeoutMillis: limits.idleTimeoutMs,
    onConnect: async (client) => {
      await client.query(sessionSettings);
      // Prepared for every transaction's first statement to be sent with (statement.ts).
      await client.query({ name: beginName, text: "begin isolation level read committed read write" });
      await client.query({ name: commitName, text: commitName });
    },
  });
  const lost = (error: Error): void => log("store.connection.lost", { error: error.message });
  pool.on("error", lost);
  // While a client is lent out the pool does not listen to it; unheard, its error would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));

  const connect = (): Promise<pg.PoolClient> =>
    pool.connect().catch((error: unknown) => {
      const full = pool.totalCount >= limits.writeConnections && pool.waitingCount > 0;
      throw full ? new Fault("UNAVAILABLE", "too many changes at once; try again", { cause: error }) : unreachable(error);
    });

  /** One try of one transaction. `raced` says that another is worth it. */
  const attempt = async <T>(work: (rows: Write) => Promise<T>): Promise<{ result: T } | { thrown: unknown; raced: boolean }> => {
    const client = await connect();
    // The first error of the database itself, whatever `work` makes of it.
    let failure: unknown;
    const noted = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
      try {
        return await asked;
      } catch (error) {
        failure ??= error;
        throw databaseFault(error);
      }
    };
    let running = true;
    let first: Promise<unknown> | undefined;
    const rows: Write = {
      writes: true,
      async query(text, values = []) {
        // What is asked for along with the first waits for it: where no transaction has begun, nothing may run outside.
        if (first !== undefined) await first;
        if (failure !== undefined) throw databaseFault(failure);
        if (!running) throw internal(new Error("a statement came after its transaction had ended"));
        const asked = noted(send(client, nameOf(text), text, values, first === undefined));
        first ??= asked.catch(() => {});
        return asked;
      },
    };
    try {
      const result = await work(rows);
      running = false;
      // A statement whose failure `work` swallowed has undone everything before it: PostgreSQL would answer
      // this commit with a rollback, and without complaint.
      if (failure !== undefined) throw databaseFault(failure);
      if (first !== undefined) {
        const { command } = await noted(client.query({ name: commitName, text: commitName }));
        if (command !== "COMMIT") throw internal(new Error(`the database answered a commit with ${command}`));
      }
      client.release();
      return { result };
    } catch (thrown) {
      running = false;
      const spoilt = brokenConnection(failure) || stalePlan(failure) || readOnly(failure);
      const undone =
        !spoilt &&
        (first === undefined ||
          (await client.query("rollback").then(
            () => true,
            () => false,
          )));
      client.release(!undone);
      if (readOnly(failure)) return { thrown: unreachable(failure), raced: false };
      // A plan that another server's migration has outdated is gone with its connection.
      return { thrown, raced: lostRace(failure) || stalePlan(failure) };
    }
  };

  const write = async <T>(work: (rows: Write) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      const outcome = await attempt(work);
      if ("result" in outcome) return outcome.result;
      if (!outcome.raced || tries >= limits.transactionTriesMax) throw outcome.thrown;
      // Growing and uneven, so that the losers of one race do not meet again in the next.
      await sleep(Math.random() * 5 * 2 ** tries);
    }
  };
  return { write, close: () => pool.end() };
};

/** Opens the connections to `place`. Each is made when first needed: a database that is down fails calls, not this. */
export const openConnections = (place: DatabaseAddress, log: Log): Connections => {
  const nameOf = statementNames();
  const reads = openReads(place, nameOf, log);
  const writes = openWrites(place, nameOf, log);
  return {
    read: reads.read,
    write: writes.write,
    async close() {
      await Promise.all([reads.close(), writes.close()]);
    },
  };
};
