// Opens the store: the database that DATABASE_URL names or the embedded one, migrated, with its connections.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { startEmbedded } from "./embedded.ts";
import { brokenConnection, sqlState } from "./faults.ts";
import type { Store } from "./handle.ts";
import { migrate } from "./migrate.ts";
import { openConnections, type DatabaseAddress } from "./pool.ts";

export interface StoreOptions {
  /** DATABASE_URL; without it the embedded server is started. */
  readonly databaseUrl?: string | undefined;
  readonly dataDirectory: string;
  readonly log: Log;
  /** Told what takes its time at a first start. */
  readonly progress?: ((line: string) => void) | undefined;
  /** For a command beside the server: use the embedded server of a running Gantry, if there is one. */
  readonly join?: boolean | undefined;
}

const placeOfUrl = (databaseUrl: string): DatabaseAddress => {
  // The address may hold a password, so it is never shown.
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) {
    throw new Fault("FAILED_PRECONDITION", "DATABASE_URL must be an address of the form postgresql://user:password@host/database");
  }
  return { connectionString: databaseUrl };
};

/** Migrates; a database that is only just starting is waited for. */
const migrateWhenReady = async (place: DatabaseAddress, progress: (line: string) => void): Promise<void> => {
  const until = Date.now() + limits.statementTimeoutMs;
  let told = false;
  for (;;) {
    try {
      return await migrate(place, progress);
    } catch (error) {
      if (error instanceof Fault) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const starting = code === "ECONNREFUSED" || sqlState(error) === "57P03";
      if (!starting || Date.now() > until) {
        const what = brokenConnection(error) ? "the database is not reachable" : "the database does not let Gantry in";
        // Node puts several addresses' failures into one error without a text of its own.
        const why = (error instanceof Error && error.message) || code || String(error);
        throw new Fault("FAILED_PRECONDITION", `DATABASE_URL: ${what}: ${why}`, { cause: error });
      }
    }
    if (!told) progress("Waiting for the database");
    told = true;
    await sleep(limits.statementTimeoutMs / 60);
  }
};

/** Opens the store. Whatever prevents it is thrown as a Fault of one plain line. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  const { databaseUrl, dataDirectory, log, progress = () => {}, join = false } = options;
  const embedded = databaseUrl ? undefined : await startEmbedded({ dataDirectory, log, progress, join });
  try {
    const place = embedded ? embedded.place : placeOfUrl(databaseUrl ?? "");
    await migrateWhenReady(place, progress);
    const connections = openConnections(place, log);
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await connections.close();
      await embedded?.stop();
    };
    return {
      read: connections.read,
      write: connections.write,
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
};
