// Advisory locks for procedures that run once across all servers. They are released at the end of the transaction.

import { limits } from "#base/limits.ts";
import type { Read, Write } from "./handle.ts";

// Arbitrary numbers, kept here so that they are unique.
const keys = {
  /** Assigning positions to events. */
  numbering: 7_301_412_901,
  /** Sealing the audit log. */
  sealing: 7_301_412_902,
  /** Binding values that earlier versions sealed without a binding. */
  binding: 7_301_412_903,
  /** Held by backups; blobs are not deleted meanwhile. */
  backup: 7_301_412_904,
} as const;

export type LockName = keyof typeof keys;

/** Waits for the lock and holds it until the transaction ends. */
export const lockExclusive = async (rows: Write, name: LockName): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [keys[name]]);
};

/** Held by a backup on its own connection while it reads blobs (copying.ts). */
export const backupKey = keys.backup;

/**
 * Returns whether a backup is reading blobs. Call it after finding the blobs to delete and before deleting them: the snapshot of a backup
 * that starts in between does not contain them.
 */
export const isBackupRunning = async (rows: Read): Promise<boolean> => {
  const [row] = await rows.query("select pg_try_advisory_xact_lock($1::bigint)", [keys.backup]);
  return row?.[0] !== "t";
};

// ---- the order of an organization's events --------------------------------------------------------------------------

// Enqueuing an organization's events and choosing a subject's next delivery must not interleave: an enqueued event waits behind pending
// ones, and a completed one releases the next. Any number of attempts complete concurrently, so they share the lock; enqueuing is
// exclusive. Each organization has its own lock. Locks with two numbers are separate from those above.
const orderKey = 730_141_290;

/** "shared" while attempts complete; "alone" while deliveries are created. */
export type OrderHold = "shared" | "alone";

const suffix = { shared: "_shared", alone: "" } as const;

/** Locks the order of those organizations where it is free, until the transaction ends, and returns them. Does not wait. */
export const tryLockOrder = async (rows: Write, roots: readonly string[], hold: OrderHold): Promise<Set<string>> => {
  const found = await rows.query(
    `select root from unnest($1::text[]) as each(root) where pg_try_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext(root))`,
    [[...new Set(roots)]],
  );
  return new Set(found.flatMap(([root]) => root ?? []));
};

/** Waits for the lock on the order of an organization's events; throws ABORTED after `waitMs`. */
export const lockOrder = async (rows: Write, root: string, hold: OrderHold, waitMs?: number): Promise<void> => {
  if (waitMs !== undefined) await rows.query("select set_config('lock_timeout', $1, true)", [String(waitMs)]);
  await rows.query(`select pg_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext($1))`, [root]);
};

/** Limits later statements of this transaction to the time of one piece of shared work. */
export const limitPiece = async (rows: Write): Promise<void> => {
  await rows.query("select set_config('statement_timeout', $1, true)", [String(limits.pieceTimeoutMs)]);
};
