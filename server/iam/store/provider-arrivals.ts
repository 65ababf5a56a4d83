// Who has come through which identity provider: its default role is given once. A row outlives the person's identity,
// so that nobody gets back what was taken away by deleting themselves and signing in anew.

import { timestamp } from "#base/time.ts";
import type { Write } from "#db";

/** True the first time that this person comes through this provider. */
export const insertProviderArrival = async (rows: Write, providerUid: string, identityUid: string, createTimeMs: number): Promise<boolean> => {
  const inserted = await rows.query(
    "insert into provider_arrivals (provider_uid, identity_uid, create_time) values ($1, $2, $3) on conflict do nothing returning 1",
    [providerUid, identityUid, timestamp(createTimeMs)],
  );
  return inserted.length > 0;
};
