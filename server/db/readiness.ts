// Whether the database does what this server needs. Asked over a connection of its own: who waits behind other people's
// statements learns how busy the server is, and a load balancer that takes a busy server out gives its work to the others.
//
// One question is under way at a time, and whoever asks meanwhile shares its answer: asking often costs nothing.

import { limits } from "#base/limits.ts";
import pg from "pg";
import { columns, expression, flag } from "./columns.ts";
import { beginSession, clientConfigOf } from "./connection.ts";
import { sendStatement } from "./driver-internals.ts";
import { MovedDatabase, openExchangeWatches } from "./exchange.ts";
import type { Primary } from "./primary.ts";

export interface Readiness {
  /** False where the database is away, silent or takes no changes. Within limits.readinessMs, and never throws. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

// A standby, and a primary whose operator has set default_transaction_read_only.
const transactionState = columns({ isReadOnly: expression("current_setting('transaction_read_only')::boolean", flag) });

const transactionStateText = `select ${transactionState.list}`;

/** The connection is made when it is first needed, and anew after it broke. @param answerMs for connecting and asking together */
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
    // Without a listener its error would end the process. What it means is for the next question to find out.
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
      // What was the primary may be a standby from now on; a new connection finds who has taken over.
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
