// Opens the store: a database, migrated, with its connections.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Metrics } from "#metrics";
import { openChanges } from "./changes.ts";
import { sqlState } from "./faults.ts";
import { startFailureText } from "./fitness.ts";
import type { Store } from "./handle.ts";
import { readHosts, readReplicaHost } from "./hosts.ts";
import { migrate, type MigrateOptions } from "./migrate.ts";
import { openConnections, serverParty } from "./pool.ts";
import { openPrimary } from "./primary.ts";
import { openReadiness } from "./readiness.ts";

export interface StoreOptions {
  /** postgresql://user:password@host/database, as DATABASE_URL has it; with several hosts, the one that is the primary. */
  readonly databaseUrl: string;
  /** The owner's connection, as GANTRY_MIGRATE_URL has it; undefined: there is none beside the server's own. */
  readonly migrateUrl?: string | undefined;
  /** How many months of the audit log are kept; undefined: as many as the database says. */
  readonly auditMonths?: number | undefined;
  /** A standby of it, as GANTRY_READ_REPLICA_URL has it, for lists; undefined: there is none. */
  readonly readReplicaUrl?: string | undefined;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  /** The processes that serve together and share the connections; absent: this one alone. */
  readonly siblings?: Siblings | undefined;
  /** Receives a line for what takes its time: waiting, migrations. */
  readonly progress?: ((line: string) => void) | undefined;
  /** How long PostgreSQL may take for an answer; limits.databaseAnswerMs where nothing is said. */
  readonly databaseAnswerMs?: number | undefined;
  /** How long it may take to say whether it is ready; limits.readinessMs where nothing is said. */
  readonly readinessMs?: number | undefined;
}

/** How often a database that is only just starting is tried again. */
const retryMs = limits.statementTimeoutMs / 60;

/** Migrates; waits for a database that is only just starting. `variable` names the setting that holds the address. */
const migrateWhenReady = async (variable: string, databaseUrl: string, options: MigrateOptions): Promise<{ readonly mayMigrate: boolean }> => {
  // The address may hold a password, so it is never shown.
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) {
    throw new Fault("FAILED_PRECONDITION", `${variable} must be an address of the form postgresql://user:password@host/database`);
  }
  readHosts(variable, databaseUrl);
  const until = Date.now() + limits.statementTimeoutMs;
  let waitIsTold = false;
  for (;;) {
    try {
      return await migrate(databaseUrl, options);
    } catch (error) {
      if (error instanceof Fault) throw error;
      const { code } = error as NodeJS.ErrnoException;
      const isStarting = code === "ECONNREFUSED" || sqlState(error) === "57P03";
      if (!isStarting || Date.now() > until) {
        throw new Fault("FAILED_PRECONDITION", startFailureText(variable, error), { cause: error });
      }
    }
    if (!waitIsTold) options.progress("Waiting for the database");
    waitIsTold = true;
    await sleep(retryMs);
  }
};

/**
 * Brings the database to what this code needs: with the owner's connection where there is one, and then looks with the
 * server's own whether it finds it. Whatever prevents it is thrown as a Fault of one line.
 */
export const prepareDatabase = async ({
  databaseUrl,
  migrateUrl,
  auditMonths,
  siblings = alone,
  progress = () => {},
}: Omit<StoreOptions, "log" | "readReplicaUrl" | "databaseAnswerMs" | "readinessMs">): Promise<void> => {
  const { count: processes } = siblings;
  if (migrateUrl !== undefined) await migrateWhenReady("GANTRY_MIGRATE_URL", migrateUrl, { progress, auditMonths, serverUrl: databaseUrl, processes });
  const { mayMigrate } = await migrateWhenReady("DATABASE_URL", databaseUrl, { progress, auditMonths, processes });
  if (mayMigrate && auditMonths !== undefined) {
    progress("The server's database role can change its tables, and so the audit log: docs/operate/postgresql.md says how to use two roles");
  }
};

/** Opens the store of a database that prepareDatabase has just prepared. */
export const openPreparedStore = (options: Omit<StoreOptions, "migrateUrl" | "auditMonths" | "progress">): Store => {
  const replica = options.readReplicaUrl === undefined ? undefined : readReplicaHost(options.readReplicaUrl);
  const primary = openPrimary(readHosts("DATABASE_URL", options.databaseUrl), options.log);
  const tellCommit = (options.siblings ?? alone).sum("commits", () => changes.note());
  const onCommit = (): void => {
    changes.note();
    tellCommit("", 1);
  };
  const connections = openConnections(primary, replica, options.log, options.databaseAnswerMs, options.metrics, options.siblings, onCommit);
  const own = connections.forParty(serverParty);
  const changes = openChanges(own.read);
  const readiness = openReadiness(primary, options.readinessMs);
  const close = async (): Promise<void> => {
    changes.close();
    await Promise.all([connections.close(), readiness.close(), primary.close()]);
  };
  let closing: Promise<void> | undefined;
  return {
    ...own,
    forParty: connections.forParty,
    changes,
    isReady: readiness.isReady,
    close: () => (closing ??= close()),
  };
};

/** Opens the store, migrated. Whatever prevents it is thrown as a Fault of one line. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  await prepareDatabase(options);
  return openPreparedStore(options);
};
