// The database that DATABASE_URL names or, without it, an embedded one in the data directory, which stops with its store.

import type { Log } from "#base/log.ts";
import type { Siblings } from "#base/siblings.ts";
import type { Metrics } from "#metrics";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import { openPreparedStore, openStore, prepareDatabase, type Store } from "#db";
import type { DatabaseSettings } from "./settings.ts";

export interface DatabaseOptions {
  readonly settings: DatabaseSettings;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Receives a line for what takes its time at a first start. */
  readonly progress: (line: string) => void;
  /** Beside a running server: use its embedded database. */
  readonly join: boolean;
  /** The processes that serve together; absent: this one alone. */
  readonly siblings?: Siblings;
  /** The embedded database, which another process of this server has started. */
  readonly embedded?: DatabaseAddresses | undefined;
}

/** How an embedded database is reached, by the role that serves and by its owner. */
export interface DatabaseAddresses {
  readonly databaseUrl: string;
  readonly migrateUrl: string;
}

const addressesOf = ({ address, ownerAddress }: EmbeddedPostgres): DatabaseAddresses => ({
  databaseUrl: databaseUrlOf(address),
  migrateUrl: databaseUrlOf(ownerAddress),
});

/** Migrates the database and nothing else, beside running servers or without one. Whatever prevents it is thrown as a Fault of one line. */
export const migrateDatabase = async ({ settings, log, progress }: Omit<DatabaseOptions, "join">): Promise<void> => {
  const { databaseUrl, migrateUrl, dataDirectory, tuning, auditMonths } = settings;
  if (databaseUrl) {
    await prepareDatabase({ databaseUrl, migrateUrl, auditMonths, progress });
    return;
  }
  const embedded = await startEmbedded({ dataDirectory, tuning, log, progress, join: true });
  try {
    await prepareDatabase({ ...addressesOf(embedded), auditMonths, progress });
  } finally {
    await embedded.stop();
  }
};

/** Works in the database as the role that owns it, migrated, beside running servers or without one. */
export const withOwnersStore = async <T>({ settings, log, progress }: Omit<DatabaseOptions, "join">, work: (store: Store) => Promise<T>): Promise<T> => {
  const { databaseUrl, migrateUrl, dataDirectory, tuning } = settings;
  const embedded = databaseUrl === undefined ? await startEmbedded({ dataDirectory, tuning, log, progress, join: true }) : undefined;
  try {
    const server = embedded ? addressesOf(embedded) : { databaseUrl: databaseUrl ?? "", migrateUrl };
    await prepareDatabase({ ...server, progress });
    const store = openPreparedStore({ databaseUrl: server.migrateUrl ?? server.databaseUrl, log });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } finally {
    await embedded?.stop();
  }
};

/** Starts the embedded database for other processes of this server. */
export const startSharedDatabase = async ({
  settings,
  log,
  progress,
}: Omit<DatabaseOptions, "join">): Promise<DatabaseAddresses & Pick<EmbeddedPostgres, "stop">> => {
  const { dataDirectory, tuning } = settings;
  const embedded = await startEmbedded({ dataDirectory, tuning, log, progress });
  return { ...addressesOf(embedded), stop: () => embedded.stop() };
};

/** Opens the store, migrated. Whatever prevents it is thrown as a Fault of one line. */
export const openDatabase = async ({ settings, log, metrics, progress, join, siblings, embedded: started }: DatabaseOptions): Promise<Store> => {
  const { databaseUrl, migrateUrl, readReplicaUrl, dataDirectory, tuning } = settings;
  // A command that has not been told how long the log is kept changes nothing about that.
  const auditMonths = join ? undefined : settings.auditMonths;
  // Nor does one need what spares the primary a server's lists.
  const options = { auditMonths, log, metrics, progress, siblings };
  if (databaseUrl) return openStore({ ...options, databaseUrl, migrateUrl, readReplicaUrl: join ? undefined : readReplicaUrl });
  if (started) return openStore({ ...options, ...started });
  const embedded = await startEmbedded({ dataDirectory, tuning, log, progress, join });
  try {
    const store = await openStore({ ...options, ...addressesOf(embedded) });
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await store.close();
      await embedded.stop();
    };
    return { ...store, close: () => (closing ??= close()) };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
};
