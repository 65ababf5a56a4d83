// Taking up events and ending deliveries decide together which event of a subject goes next: what is taken up waits
// behind what is on its way, and what ends lets the next one go. Neither may look while the other is between the two.
// Any number of deliveries end at once, so they share the lock; taking up has it alone.

import type { Write } from "#store";

/** Any number that nobody else of ours takes. */
const key = 7_301_412_901;

export const lockTakingUp = async (rows: Write): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [key]);
};

export const lockEnding = async (rows: Write): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock_shared($1::bigint)", [key]);
};
