// Locks of whole procedures, for all servers of a database together. They end with their transaction.

import { limits } from "#base/limits.ts";
import type { Read, Write } from "./handle.ts";

// Any numbers; here, so that no two are the same.
const keys = {
  /** Who gives events their positions: one server at a time. */
  numbering: 7_301_412_901,
  /** Sealing the audit log: one server at a time. */
  sealing: 7_301_412_902,
  /** Binding what versions before had sealed without: one server at a time. */
  binding: 7_301_412_903,
  /** Held by backups: meanwhile the bytes of blobs stay. */
  backup: 7_301_412_904,
} as const;

export type LockName = keyof typeof keys;

/** Waits until nobody else holds this lock, and keeps everybody else waiting until the transaction ends. */
export const lockExclusive = async (rows: Write, name: LockName): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [keys[name]]);
};

/** What a backup holds for as long as it reads blobs, by a connection of its own (copying.ts). */
export const backupKey = keys.backup;

/**
 * True while a backup reads blobs. Asked behind the look at what may be removed and before it is: a backup that begins in between has
 * none of that in its snapshot.
 */
export const isBackupRunning = async (rows: Read): Promise<boolean> => {
  const [row] = await rows.query("select pg_try_advisory_xact_lock($1::bigint)", [keys.backup]);
  return row?.[0] !== "t";
};

// ---- the order of an organization's events ----------------------------------------------------------------------

// Who enqueues an organization's events, and who decides which of a subject's is sent next: what is enqueued waits behind
// what is pending, and what is completed releases the next. Neither may look while the other is between the two. Any number
// of attempts are completed at once, so they share the lock; who enqueues has it alone. Each organization has its own, so
// that none waits for another's. These have two numbers and are other locks than those above.
const orderKey = 730_141_290;

/** "shared": while attempts are completed; "alone": while deliveries are made. */
export type OrderHold = "shared" | "alone";

const suffix = { shared: "_shared", alone: "" } as const;

/** Those of these organizations whose order nobody stands against, held until the transaction ends. Waits for nobody. */
export const tryLockOrder = async (rows: Write, roots: readonly string[], hold: OrderHold): Promise<Set<string>> => {
  const found = await rows.query(
    `select root from unnest($1::text[]) as each(root) where pg_try_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext(root))`,
    [[...new Set(roots)]],
  );
  return new Set(found.flatMap(([root]) => root ?? []));
};

/** Waits for the order of an organization's events; throws ABORTED after `waitMs`. */
export const lockOrder = async (rows: Write, root: string, hold: OrderHold, waitMs?: number): Promise<void> => {
  if (waitMs !== undefined) await rows.query("select set_config('lock_timeout', $1, true)", [String(waitMs)]);
  await rows.query(`select pg_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext($1))`, [root]);
};

/** From here on a statement of this transaction may take no longer than a piece of shared work does. */
export const limitPiece = async (rows: Write): Promise<void> => {
  await rows.query("select set_config('statement_timeout', $1, true)", [String(limits.pieceTimeoutMs)]);
};
