// The database interface of the modules above: SQL statements in, rows of texts out. Read and Write are different types, so that a list
// cannot write.

import type { FairnessKey } from "#base/fair-queue.ts";
import type { Fault } from "#base/fault.ts";

/** A row in PostgreSQL's text format; columns.ts converts it. */
export type Row = readonly (string | null)[];

/** A list of bytes requires `$n::bytea[]` in the statement. */
export type Param = string | number | boolean | null | readonly string[] | readonly Uint8Array[];

/** Checks with a request's first statement that the caller's permissions have not changed (access-version.ts). */
export interface Check {
  readonly root: string;
  /** Throws StaleAccess if the version differs from the decision's. */
  confirm(version: string | null | undefined): void;
  /** The same connections without the check. */
  readonly bare: Read;
}

/** The cost of a statement that reads more rows than it returns. */
export interface StatementCost {
  /** Maximum number of rows returned. */
  readonly rows: number;
  /** The work grows with the rows searched (statement-costs.ts). */
  readonly wide: boolean;
}

export const wideCount: StatementCost = { rows: 1, wide: true };

/** A replica that may lag behind the primary (replica.ts). */
export interface LaggingCopy {
  readonly read: Read;
  /** Unix ms: it has everything committed by then. */
  readonly asOfMs: number;
  /** The replica is then skipped for a while. */
  fail(error: unknown): void;
}

export interface Read {
  /** For lists, which may return older data. */
  readonly lagging?: LaggingCopy | undefined;
  /** Present until the first statement has confirmed it. */
  readonly check?: Check | undefined;
  /** The same connections outside any tenant's share: rows by uid are batched across callers. */
  readonly shared?: Read;
  /** Runs a prepared statement; the same text is planned once per connection. Throws a Fault (faults.ts), never a driver error. */
  query(statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Row[]>;
}

/** A Read inside a transaction, which may also write. */
export interface Write extends Read {
  readonly writes: true;
  /**
   * Queues a statement and returns at once. It is sent with the next awaited statement or the commit, so it costs no round trip. If it
   * fails, the transaction throws its fault, whatever `work` throws.
   * @param faultOf replaces the fault to throw
   * @param answered gets the result, before the commit; must not throw
   */
  send(statement: string, values: readonly Param[], faultOf?: (fault: Fault) => unknown, answered?: (rows: readonly Row[]) => void): void;
}

/** Statements and transactions, counted in one tenant's share. */
export interface Rows {
  /** Outside a transaction: cheap statements are pipelined over shared connections, wide ones are limited in number. */
  readonly read: Read;
  /** Runs `work` in a read-only transaction. For settings of a single statement. */
  readTogether<T>(work: (rows: Read) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction; rolls back if it throws. Retries after serialization failures and deadlocks, so `work` must have no
   * other side effects. Concurrent writers of the same `row` wait without a connection. Throws RESOURCE_EXHAUSTED if too many wait.
   */
  write<T>(work: (rows: Write) => Promise<T>, row?: string): Promise<T>;
}

/** Notifies idle loops of commits (changes.ts). */
export interface Changes {
  /** Increases with each commit: at once in this process, within a second on other servers. */
  count(): number;
  /** Returns a function that unsubscribes. */
  listen(listener: () => void): () => void;
}

/** The store's own read and write belong to the server. */
export interface Store extends Rows {
  forParty(fairnessKey: FairnessKey): Rows;
  readonly changes: Changes;
  /** Never throws; independent of load (probe.ts). The first call starts the probe. */
  isReady(): Promise<boolean>;
  /** The database may be silent: full queues are not the client's fault. */
  isStalled(): boolean;
  close(): Promise<void>;
}
