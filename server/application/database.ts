// The database that DATABASE_URL names or, without it, an embedded one in the data directory, which stops with its store.

import type { Log } from "#base/log.ts";
import { databaseUrlOf, startEmbedded } from "#postgres";
import { openStore, type Store } from "#store";

export interface DatabaseOptions {
  readonly settings: { readonly databaseUrl: string | undefined; readonly dataDirectory: string };
  readonly log: Log;
  /** Receives a line for what takes its time at a first start. */
  readonly progress: (line: string) => void;
  /** Beside a running server: use its embedded database. */
  readonly join: boolean;
}

/** Opens the store, migrated. Whatever prevents it is thrown as a Fault of one line. */
export const openDatabase = async ({ settings, log, progress, join }: DatabaseOptions): Promise<Store> => {
  const { databaseUrl, dataDirectory } = settings;
  if (databaseUrl) return openStore({ databaseUrl, log, progress });
  const embedded = await startEmbedded({ dataDirectory, log, progress, join });
  try {
    const store = await openStore({ databaseUrl: databaseUrlOf(embedded.address), log, progress });
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
