// Whether a connection pooler stands between us and PostgreSQL, and keeps a connection no longer than a transaction.

import pg from "pg";
import { announcedBackend } from "./driver-internals.ts";

const backendOf = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
};

/**
 * True where transactions of one connection are done by several of PostgreSQL's, or one of these does those of several.
 * PostgreSQL itself announces at the start the process that serves the connection, a pooler something else; so that the
 * second connection, which shows how it pools, is made behind a pooler alone.
 */
export const poolsTransactions = async (client: pg.Client, config: pg.ClientConfig): Promise<boolean> => {
  const first = await backendOf(client);
  if (first === announcedBackend(client)) return false;
  const other = new pg.Client(config);
  other.on("error", () => {});
  await other.connect();
  try {
    // One that gives its connections in turn gives another now.
    if ((await backendOf(client)) !== first) return true;
    // One that gives the latest first gives the other client ours, which is at rest.
    await other.query("begin");
    const taken = await backendOf(other);
    // Not asked first: of a pool of one connection the other has it now.
    return taken === first || (await backendOf(client)) !== first;
  } finally {
    await other.end().catch(() => {});
  }
};
