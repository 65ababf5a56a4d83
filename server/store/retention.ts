// How long the rows of a table are kept. Each table's file says it of its own; maintenance asks them all.

import type { Store } from "./handle.ts";

export interface Retention {
  readonly table: string;
  /** Deletes the rows whose time is over, in transactions of its own. Any number of servers may do it at once. */
  deleteExpired(store: Store, nowMs: number): Promise<void>;
}
