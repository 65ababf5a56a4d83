// How long the rows of a table are kept. Each table's owner exports its own; retentions.ts lists them.

import type { Store } from "./handle.ts";

export interface Retention {
  readonly table: string;
  /** Deletes the rows whose time is over, in transactions of its own. Any number of servers may do it at once. */
  deleteExpired(store: Store, nowMs: number): Promise<void>;
}
