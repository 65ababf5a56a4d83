// What one transaction at a time may do, on all servers of a database together.

import type { Write } from "./handle.ts";

// Any numbers, each for one thing; here, so that no two are the same.
const keys = { takingUp: 7_301_412_901, sealing: 7_301_412_902 } as const;

/** Waits until nobody else does this, and keeps everybody else waiting until the transaction ends. */
export const lockAlone = async (rows: Write, what: keyof typeof keys): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [keys[what]]);
};

/** Waits for whoever does it alone; any number share it. */
export const lockTogether = async (rows: Write, what: keyof typeof keys): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock_shared($1::bigint)", [keys[what]]);
};
