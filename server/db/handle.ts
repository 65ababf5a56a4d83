// What the modules above see of the database: statements in, rows of texts out. Read and Write are different types,
// so that a list cannot write.

import type { Party } from "#base/fair-queue.ts";
import type { Fault } from "#base/fault.ts";

/** One row: every column as PostgreSQL's own text, null for NULL. columns.ts turns texts into values. */
export type Row = readonly (string | null)[];

/** A statement's parameter. Lists become PostgreSQL arrays; JSON is passed as text. */
export type Param = string | number | boolean | null | readonly string[];

/** What a request's first statement must check: that the caller's rights are still of this version (access-version.ts). */
export interface Check {
  readonly root: string;
  /** Compares the version that a statement has read with the one that the decision was made with. Throws StaleAccess. */
  confirm(version: string | null | undefined): void;
  /** The same connections, without the check. */
  readonly bare: Read;
}

/** What a statement may cost that does more than read the rows that it names. */
export interface StatementCost {
  /** At most so many rows are the answer. */
  readonly rows: number;
  /** True: its work grows with what it looks through (statement-costs.ts). */
  readonly wide: boolean;
}

/** Of a count: a row, whatever was looked through. */
export const wideCount: StatementCost = { rows: 1, wide: true };

/** A copy of the database that may be behind it (replica.ts). */
export interface LaggingCopy {
  readonly read: Read;
  /** Milliseconds since 1970: it has all that was committed by then. */
  readonly asOfMs: number;
  /** It could not answer: for a while it is not asked. */
  fail(error: unknown): void;
}

export interface Read {
  /** A replica, where there is one that is not too far behind. For lists, which may show what was. */
  readonly lagging?: LaggingCopy | undefined;
  /** Present until the first statement has confirmed it; absent where nothing has to be checked. */
  readonly check?: Check | undefined;
  /** The same connections in nobody's share: rows by uid are loaded together, whoever asks for them. */
  readonly shared?: Read;
  /**
   * Runs one prepared statement. `statement` is the whole SQL text with $1, $2, …; the same text is planned once
   * per connection. `cost`: of more than the rows that it names. Throws a Fault (see faults.ts), never a driver's error.
   */
  query(statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Row[]>;
}

/** A Read inside one transaction, which may also change rows. */
export interface Write extends Read {
  readonly writes: true;
  /**
   * Takes down a statement whose rows nobody reads, and returns at once. It is sent before the transaction's next statement
   * that is waited for, or before its commit, in one message with it: so it costs no wait of its own. If it fails, nothing
   * behind it is done, and the transaction throws its fault, whatever `work` throws.
   * @param faultOf what to throw in the place of this fault
   */
  send(statement: string, values: readonly Param[], faultOf?: (fault: Fault) => unknown): void;
}

/** Statements and transactions, in the share of one party. */
export interface Rows {
  /** Statements outside any transaction: cheap ones pipelined over a few shared connections, wide ones in turns. */
  readonly read: Read;
  /** Runs `work` in one transaction that changes nothing, on a connection for writes. For settings that hold for one statement. */
  readTogether<T>(work: (rows: Read) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction and commits, or rolls back what it threw. Tried again from the start after a
   * serialization failure or a deadlock, so `work` touches rows and nothing else. `row`: the row that it is about to
   * change, if it is one; who else changes it waits without a connection. Throws RESOURCE_EXHAUSTED where too many wait.
   */
  write<T>(work: (rows: Write) => Promise<T>, row?: string): Promise<T>;
}

/** Tells loops at rest that something has been committed (changes.ts). */
export interface Changes {
  /** Grows with each commit of this process at once, and within limits.idleLookMs of a commit by another server. */
  count(): number;
  /** Calls `listener` whenever the count has grown, until the returned function is called. */
  listen(listener: () => void): () => void;
}

/** A store's own read and write are the server's. */
export interface Store extends Rows {
  /** The same for somebody else. */
  forParty(party: Party): Rows;
  /** What has been committed, by this process and by others. */
  readonly changes: Changes;
  /** Whether the database does what a server needs, however busy it is (readiness.ts). Never throws. */
  isReady(): Promise<boolean>;
  /** Lets statements in flight finish and closes every connection. */
  close(): Promise<void>;
}
