// Fans events out: a delivery to each subscription that receives them.

import { insertDeliveries, type Write } from "#store";

/** Enqueues the events of these positions, in the transaction that gave them these, under its lock: each event once. */
export const enqueueDeliveries = (rows: Write, firstPosition: number, lastPosition: number, now: string): Promise<void> =>
  insertDeliveries(rows, firstPosition, lastPosition, now);
