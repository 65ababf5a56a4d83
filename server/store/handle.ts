// The database interface of the modules above: SQL statements in, rows of texts out. Read and Write are different types, so that a list
// cannot write.

import type { Party } from "#base/fair-queue.ts";
import type { Fault } from "#base/fault.ts";

/** One row: every column in PostgreSQL's text format, null for NULL. columns.ts converts them. */
export type Row = readonly (string | null)[];

/** A statement parameter. Lists become PostgreSQL arrays; JSON is passed as text. */
export type Param = string | number | boolean | null | readonly string[];

/** Checks with a request's first statement that the caller's permissions have not changed since the decision (access-version.ts). */
export interface Check {
  readonly root: string;
  /** Compares the version that the statement read with the decision's version; throws StaleAccess if they differ. */
  confirm(version: string | null | undefined): void;
  /** The same connections without the check. */
  readonly bare: Read;
}

/** The cost of a statement that may read more rows than it returns. */
export interface StatementCost {
  /** The maximum number of rows returned. */
  readonly rows: number;
  /** The work grows with the number of rows searched (statement-costs.ts). */
  readonly wide: boolean;
}

/** The cost of a count: one row, however many are read. */
export const wideCount: StatementCost = { rows: 1, wide: true };

/** A replica that may lag behind the primary (replica.ts). */
export interface LaggingCopy {
  readonly read: Read;
  /** Unix ms: it has everything that was committed by then. */
  readonly asOfMs: number;
  /** Reports a failure; the replica is then skipped for a while. */
  fail(error: unknown): void;
}

export interface Read {
  /** A replica that does not lag too far. For lists, which may return older data. */
  readonly lagging?: LaggingCopy | undefined;
  /** Present until the first statement has confirmed it; absent if there is nothing to check. */
  readonly check?: Check | undefined;
  /** The same connections outside any tenant's share: rows by uid are batched across callers. */
  readonly shared?: Read;
  /**
   * Runs a prepared statement with the parameters $1, $2, …; the same text is planned once per connection. Throws a Fault (faults.ts),
   * never a driver error. `cost` is for statements that read more rows than they return.
   */
  query(statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Row[]>;
}

/** A Read inside a transaction, which may also write. */
export interface Write extends Read {
  readonly writes: true;
  /**
   * Queues a statement whose rows are not needed, and returns at once. It is sent in one message with the next awaited statement or the
   * commit, so it costs no round trip.
   * If it fails, later statements are not run, and the transaction throws its fault, whatever `work` throws.
   * @param faultOf replaces the fault to throw
   */
  send(statement: string, values: readonly Param[], faultOf?: (fault: Fault) => unknown): void;
}

/** Statements and transactions, counted in one tenant's share. */
export interface Rows {
  /** Statements outside a transaction: cheap ones are pipelined over shared connections, wide ones are limited in number. */
  readonly read: Read;
  /** Runs `work` in one read-only transaction on a write connection. For settings that apply to a single statement. */
  readTogether<T>(work: (rows: Read) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction; rolls back if it throws. Retries from the start after a serialization failure or a deadlock, so
   * `work` must have no other side effects.
   * If `row`, the one row to be changed, is given, concurrent writers of it wait without a connection. Throws RESOURCE_EXHAUSTED if too
   * many wait.
   */
  write<T>(work: (rows: Write) => Promise<T>, row?: string): Promise<T>;
}

/** Notifies idle loops of commits (changes.ts). */
export interface Changes {
  /** Increases with each commit of this process, and within limits.idleLookMs of a commit by another server. */
  count(): number;
  /** Calls `listener` whenever the count increases; returns a function that unsubscribes. */
  listen(listener: () => void): () => void;
}

/** The store's own read and write are for the server itself. */
export interface Store extends Rows {
  /** Returns the same, counted in a tenant's share. */
  forParty(party: Party): Rows;
  /** Commits of this process and of other servers. */
  readonly changes: Changes;
  /** Returns whether the database can serve, regardless of load (readiness.ts). Never throws. */
  isReady(): Promise<boolean>;
  /** Waits for running statements and closes all connections. */
  close(): Promise<void>;
}
