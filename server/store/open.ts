// Opens the store: a database, migrated, with its connections.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { brokenConnection, sqlState } from "./faults.ts";
import type { Store } from "./handle.ts";
import { migrate } from "./migrate.ts";
import { openConnections } from "./pool.ts";

export interface StoreOptions {
  /** postgresql://user:password@host/database, as DATABASE_URL has it. */
  readonly databaseUrl: string;
  readonly log: Log;
  /** Receives a line for what takes its time: waiting, migrations. */
  readonly progress?: ((line: string) => void) | undefined;
}

/** How often a database that is only just starting is tried again. */
const retryMs = limits.statementTimeoutMs / 60;

/** Migrates; waits for a database that is only just starting. */
const migrateWhenReady = async (databaseUrl: string, progress: (line: string) => void): Promise<void> => {
  const until = Date.now() + limits.statementTimeoutMs;
  let waitIsTold = false;
  for (;;) {
    try {
      return await migrate(databaseUrl, progress);
    } catch (error) {
      if (error instanceof Fault) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const isStarting = code === "ECONNREFUSED" || sqlState(error) === "57P03";
      if (!isStarting || Date.now() > until) {
        const what = brokenConnection(error) ? "the database is not reachable" : "the database does not let Gantry in";
        // Node puts several addresses' failures into one error without a text of its own.
        const why = (error instanceof Error && error.message) || code || String(error);
        throw new Fault("FAILED_PRECONDITION", `DATABASE_URL: ${what}: ${why}`, { cause: error });
      }
    }
    if (!waitIsTold) progress("Waiting for the database");
    waitIsTold = true;
    await sleep(retryMs);
  }
};

/** Opens the store. Whatever prevents it is thrown as a Fault of one line. */
export const openStore = async ({ databaseUrl, log, progress = () => {} }: StoreOptions): Promise<Store> => {
  // The address may hold a password, so it is never shown.
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) {
    throw new Fault("FAILED_PRECONDITION", "DATABASE_URL must be an address of the form postgresql://user:password@host/database");
  }
  await migrateWhenReady(databaseUrl, progress);
  const connections = openConnections(databaseUrl, log);
  let closing: Promise<void> | undefined;
  return { read: connections.read, write: connections.write, close: () => (closing ??= connections.close()) };
};
