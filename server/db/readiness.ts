// Checks whether the database can serve. On a dedicated connection: behind other statements the check would measure load, and a load
// balancer would remove a busy server and overload the others. Concurrent callers share a result.

import { limits } from "#base/limits.ts";
import pg from "pg";
import { columns, expression, flag } from "./columns.ts";
import { beginSession, clientConfigOf } from "./connection.ts";
import { sendStatement } from "./driver-internals.ts";
import { MovedDatabase, openExchangeWatches } from "./exchange.ts";
import type { Primary } from "./primary.ts";

export interface Readiness {
  /** False if the database is unreachable, silent or read-only. Takes at most limits.readinessMs, never throws. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

// A standby, or a primary with default_transaction_read_only set.
const transactionState = columns({ isReadOnly: expression("current_setting('transaction_read_only')::boolean", flag) });

const transactionStateText = `select ${transactionState.list}`;

/** Connects on first use. @param answerMs for connecting and querying together */
export const openReadiness = (primary: Primary, answerMs: number = limits.readinessMs): Readiness => {
  const watches = openExchangeWatches(answerMs);
  primary.onMove(() => watches.cut(new MovedDatabase()));
  let connected: pg.Client | undefined;
  let asking: Promise<boolean> | undefined;
  let closed = false;

  const drop = (client: pg.Client): void => {
    if (connected === client) connected = undefined;
    client.end().catch(() => {});
  };

  const connect = async (): Promise<pg.Client> => {
    if (connected) return connected;
    const client = new pg.Client(clientConfigOf((primary.known ?? (await primary.find())).url));
    watches.add(client);
    client.on("error", () => drop(client));
    try {
      await client.connect();
      await beginSession(client, { statementTimeoutMs: answerMs });
    } catch (error) {
      drop(client);
      throw error;
    }
    connected = client;
    return client;
  };

  const ask = async (): Promise<boolean> => {
    const late = setTimeout(() => watches.cut(), answerMs);
    try {
      const client = await connect();
      const [row] = await sendStatement(client, undefined, transactionStateText, []).catch((error: unknown) => {
        drop(client);
        throw error;
      });
      const isReady = row !== undefined && !transactionState.read(row).isReadOnly;
      // A new connection finds the new primary.
      if (!isReady) drop(client);
      return isReady;
    } catch {
      return false;
    } finally {
      clearTimeout(late);
    }
  };

  return {
    async isReady() {
      if (closed) return false;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    async close() {
      closed = true;
      const late = setTimeout(() => watches.cut(), limits.storeCloseMs);
      await asking;
      if (connected) drop(connected);
      await watches.ended();
      clearTimeout(late);
    },
  };
};
