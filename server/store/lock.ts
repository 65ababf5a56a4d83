// Locks of whole procedures, for all servers of a database together. They end with their transaction.

import type { Write } from "./handle.ts";

// Any numbers; here, so that no two are the same.
const keys = {
  /**
   * The order of events: who gives events their positions and enqueues them, and who decides which event of a subject is
   * sent next, that is, what is enqueued waits behind what is pending, and what is completed releases the next. Neither
   * may look while the other is between the two. Any number of attempts are completed at once, so they share the lock;
   * who enqueues has it alone.
   */
  eventOrder: 7_301_412_901,
  /** Sealing the audit log: one server at a time. */
  sealing: 7_301_412_902,
} as const;

export type LockName = keyof typeof keys;

/** Waits until nobody else holds this lock, and keeps everybody else waiting until the transaction ends. */
export const lockExclusive = async (rows: Write, name: LockName): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [keys[name]]);
};

/** Waits for whoever holds it alone; any number share it. */
export const lockShared = async (rows: Write, name: LockName): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock_shared($1::bigint)", [keys[name]]);
};
