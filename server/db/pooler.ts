// Detects a connection pooler in transaction mode.

import pg from "pg";
import { announcedBackend } from "./driver-internals.ts";

const backendOf = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
};

/**
 * Returns whether transactions of a connection may run on several backends. A pooler announces another process ID than the backend's, so
 * the second connection is opened only behind a pooler.
 */
export const poolsTransactions = async (client: pg.Client, config: pg.ClientConfig): Promise<boolean> => {
  const first = await backendOf(client);
  if (first === announcedBackend(client)) return false;
  const other = new pg.Client(config);
  other.on("error", () => {});
  await other.connect();
  try {
    // A round-robin pooler uses another backend now.
    if ((await backendOf(client)) !== first) return true;
    // A most-recently-used pooler gives the idle backend to the other client.
    await other.query("begin");
    const taken = await backendOf(other);
    // Not this client first: in a pool of one, the other has the backend now.
    return taken === first || (await backendOf(client)) !== first;
  } finally {
    await other.end().catch(() => {});
  }
};
