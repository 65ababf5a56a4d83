// Table provider_arrivals: first sign-ins, which grant the default role once. A row outlives the identity, so that users cannot regain a
// revoked role by deleting themselves.

import { timestamp } from "#base/time.ts";
import type { Write } from "#db";

/** Returns true only on the first sign-in. */
export const insertProviderArrival = async (rows: Write, providerUid: string, identityUid: string, createTimeMs: number): Promise<boolean> => {
  const inserted = await rows.query(
    "insert into provider_arrivals (provider_uid, identity_uid, create_time) values ($1, $2, $3) on conflict do nothing returning 1",
    [providerUid, identityUid, timestamp(createTimeMs)],
  );
  return inserted.length > 0;
};
