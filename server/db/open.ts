// Opens the store: migrates the database and connects to it.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { alone } from "#base/siblings.ts";
import { openChanges } from "./changes.ts";
import { sqlState } from "./faults.ts";
import { startFailureText } from "./fitness.ts";
import type { Store } from "./handle.ts";
import { readHosts, readReplicaHost } from "./hosts.ts";
import { migrate, type MigrateOptions } from "./migrate.ts";
import { type ConnectionsOptions, openConnections, serverParty } from "./pool.ts";
import { openPrimary } from "./primary.ts";

export interface StoreOptions extends ConnectionsOptions {
  /** With several hosts, the primary is used. */
  readonly databaseUrl: string;
  /** The owner's connection, if separate. */
  readonly migrateUrl?: string | undefined;
  /** Undefined to leave the database's value. */
  readonly auditMonths?: number | undefined;
  /** A standby for lists. */
  readonly readReplicaUrl?: string | undefined;
  readonly progress?: ((line: string) => void) | undefined;
}

const retryMs = limits.statementTimeoutMs / 60;

/** Waits for a database that is starting. `variable` names the setting of the URL. */
const migrateWhenReady = async (variable: string, databaseUrl: string, options: MigrateOptions): Promise<{ readonly mayMigrate: boolean }> => {
  // The URL may contain a password.
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

/** Migrates with the owner's connection, if any, and checks with the server's own. Throws a one-line Fault. */
export const prepareDatabase = async ({
  databaseUrl,
  migrateUrl,
  auditMonths,
  whileServersRun,
  siblings = alone,
  progress = () => {},
}: Omit<StoreOptions, "log" | "readReplicaUrl" | "databaseAnswerMs" | "silentMs"> & Pick<MigrateOptions, "whileServersRun">): Promise<void> => {
  const { count: processes } = siblings;
  const options = { progress, auditMonths, whileServersRun, processes };
  if (migrateUrl !== undefined) await migrateWhenReady("GANTRY_MIGRATE_URL", migrateUrl, { ...options, serverUrl: databaseUrl });
  const { mayMigrate } = await migrateWhenReady("DATABASE_URL", databaseUrl, options);
  if (mayMigrate && auditMonths !== undefined) {
    progress("The server's database role can change its tables, and so the audit log: docs/operate/postgresql.md says how to use two roles");
  }
};

export const openPreparedStore = (options: Omit<StoreOptions, "migrateUrl" | "auditMonths" | "progress">): Store => {
  const replica = options.readReplicaUrl === undefined ? undefined : readReplicaHost(options.readReplicaUrl);
  const primary = openPrimary(readHosts("DATABASE_URL", options.databaseUrl), options.log, limits.hostAnswerMs, options.metrics);
  const tellCommit = (options.siblings ?? alone).sum("commits", () => changes.note());
  const onCommit = (): void => {
    changes.note();
    tellCommit("", 1);
  };
  const connections = openConnections(primary, replica, onCommit, { ...options, onSnapshot: (snapshot) => changes.see(snapshot) });
  const own = connections.forParty(serverParty);
  const changes = openChanges(own.read);
  const close = async (): Promise<void> => {
    changes.close();
    await Promise.all([connections.close(), primary.close()]);
  };
  let closing: Promise<void> | undefined;
  return {
    ...own,
    forParty: connections.forParty,
    changes,
    isReady: connections.isReady,
    isStalled: connections.isStalled,
    close: () => (closing ??= close()),
  };
};

/** Throws a one-line Fault. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  await prepareDatabase(options);
  return openPreparedStore(options);
};
