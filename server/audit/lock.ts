// One server at a time seals, drops a month, or looks at where a chain ends.

import type { Write } from "#store";

/** Any number that nobody else of ours takes. */
const key = 7_301_412_902;

export const lockSealing = async (rows: Write): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock($1::bigint)", [key]);
};
