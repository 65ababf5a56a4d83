// Advisory locks across all servers, released with the transaction.

import { limits } from "#base/limits.ts";
import type { Read, Write } from "./handle.ts";

// Arbitrary but unique.
const keys = {
  numbering: 7_301_412_901,
  sealing: 7_301_412_902,
  /** Binding what earlier versions sealed without a binding. */
  binding: 7_301_412_903,
  /** Held by backups; blobs are not deleted meanwhile. */
  backup: 7_301_412_904,
  /** Held by a restore, so that no other one continues it. */
  restore: 7_301_412_905,
} as const;

export type LockName = keyof typeof keys;

export const lockExclusive = async (rows: Write, name: LockName): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [keys[name]]);
};

/** Held on a separate connection while a backup reads blobs (copying.ts). */
export const backupKey = keys.backup;

/** Held on a separate connection while a backup is restored (copying.ts). */
export const restoreKey = keys.restore;

/** With a number for each path. Held on a separate connection while a backup is written there (copying.ts). */
export const backupPathKey = 730_141_295;

/**
 * Returns whether a backup reads blobs. Call it after finding the blobs to delete and before deleting them: a backup that starts in
 * between does not have them in its snapshot.
 */
export const isBackupRunning = async (rows: Read): Promise<boolean> => {
  const [row] = await rows.query("select pg_try_advisory_xact_lock($1::bigint)", [keys.backup]);
  return row?.[0] !== "t";
};

// ---- the order of an organization's events --------------------------------------------------------------------------

// An enqueued event waits behind pending ones, and a completed attempt releases the next, so the two must not interleave. Completing
// shares the lock, enqueuing is exclusive. Locks with two numbers are separate from those above.
const orderKey = 730_141_290;

/** "shared": attempts complete. "alone": deliveries are created. */
export type OrderLease = "shared" | "alone";

const suffix = { shared: "_shared", alone: "" } as const;

/** Returns the organizations that could be locked. Does not wait. */
export const tryLockOrder = async (rows: Write, roots: readonly string[], hold: OrderLease): Promise<Set<string>> => {
  const found = await rows.query(
    `select root from unnest($1::text[]) as each(root) where pg_try_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext(root))`,
    [[...new Set(roots)]],
  );
  return new Set(found.flatMap(([root]) => root ?? []));
};

/** Throws ABORTED after `waitMs`. */
export const lockOrder = async (rows: Write, root: string, hold: OrderLease, waitMs?: number): Promise<void> => {
  if (waitMs !== undefined) await rows.query("select set_config('lock_timeout', $1, true)", [String(waitMs)]);
  await rows.query(`select pg_advisory_xact_lock${suffix[hold]}(${orderKey}, hashtext($1))`, [root]);
};

/** Limits later statements to the time of one piece of shared work. */
export const limitPiece = async (rows: Write): Promise<void> => {
  await rows.query("select set_config('statement_timeout', $1, true)", [String(limits.pieceTimeoutMs)]);
};
