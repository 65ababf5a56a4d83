// The database of DATABASE_URL or, without it, an embedded one in the data directory, which stops with its store.

import type { Log } from "#base/log.ts";
import type { Siblings } from "#base/siblings.ts";
import type { Metrics } from "#metrics";
import type { Health } from "#health";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import { openPreparedStore, openStore, prepareDatabase, type Store, type StoreOptions } from "#db";
import type { DatabaseSettings } from "./settings.ts";

export interface DatabaseOptions {
  readonly settings: DatabaseSettings;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly health?: Health | undefined;
  readonly onTime?: StoreOptions["onTime"];
  readonly progress: (line: string) => void;
  /** Share the embedded database of a running server. */
  readonly join: boolean;
  /** Cooperating processes; default: none. */
  readonly siblings?: Siblings;
  /** The embedded database of another process of this server. */
  readonly embedded?: DatabaseAddresses | undefined;
}

/** URLs of an embedded database for the server's role and the owner. */
export interface DatabaseAddresses {
  readonly databaseUrl: string;
  readonly migrateUrl: string;
}

const addressesOf = ({ address, ownerAddress }: EmbeddedPostgres): DatabaseAddresses => ({
  databaseUrl: databaseUrlOf(address),
  migrateUrl: databaseUrlOf(ownerAddress),
});

export interface MigrateDatabaseOptions extends Omit<DatabaseOptions, "join"> {
  /** Run breaking migrations although servers are connected. */
  readonly whileServersRun: boolean;
}

/** Runs the migrations only, with or without running servers. Throws a one-line Fault on failure. */
export const migrateDatabase = async ({ settings, log, progress, whileServersRun }: MigrateDatabaseOptions): Promise<void> => {
  const { databaseUrl, migrateUrl, dataDirectory, tuning, auditMonths } = settings;
  if (databaseUrl) {
    await prepareDatabase({ databaseUrl, migrateUrl, auditMonths, progress, whileServersRun });
    return;
  }
  const embedded = await startEmbedded({ dataDirectory, tuning, log, progress, join: true });
  try {
    await prepareDatabase({ ...addressesOf(embedded), auditMonths, progress, whileServersRun });
  } finally {
    await embedded.stop();
  }
};

/** Runs `work` as the database's owner, migrated, with or without running servers. */
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

/** Opens the migrated store. Throws a one-line Fault on failure. */
export const openDatabase = async ({
  settings,
  log,
  metrics,
  health,
  onTime,
  progress,
  join,
  siblings,
  embedded: started,
}: DatabaseOptions): Promise<Store> => {
  const { databaseUrl, migrateUrl, readReplicaUrl, dataDirectory, tuning } = settings;
  // Commands do not change the retention of the log.
  const auditMonths = join ? undefined : settings.auditMonths;
  // Commands need no replica either.
  const options = { auditMonths, log, metrics, health, onTime, progress, siblings };
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
