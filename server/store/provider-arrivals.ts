// Who has come through which identity provider: its default role is given once. A row outlives the person's identity,
// so that nobody gets back what was taken away by deleting themselves and signing in anew.

import { timestamp } from "#base/time.ts";
import { columns, text } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

/** True the first time that this person comes through this provider. */
export const insertProviderArrival = async (rows: Write, providerUid: string, identityUid: string, createTimeMs: number): Promise<boolean> => {
  const inserted = await rows.query(
    "insert into provider_arrivals (provider_uid, identity_uid, create_time) values ($1, $2, $3) on conflict do nothing returning 1",
    [providerUid, identityUid, timestamp(createTimeMs)],
  );
  return inserted.length > 0;
};

/** Notes by which external id of the provider's this person came. */
export const writeArrivalExternalId = async (rows: Write, providerUid: string, identityUid: string, externalId: string): Promise<void> => {
  await rows.query("update provider_arrivals set external_id = $3 where provider_uid = $1 and identity_uid = $2 and external_id is distinct from $3", [
    providerUid,
    identityUid,
    externalId,
  ]);
};

const arrived = columns({ identityUid: text });

/** The person who came through the provider last by this external id. */
export const findArrivedIdentity = async (rows: Read, providerUid: string, externalId: string): Promise<string | undefined> => {
  const statement = `select ${arrived.list} from provider_arrivals where provider_uid = $1 and external_id = $2 order by create_time desc limit 1`;
  return (await arrived.findOne(rows, statement, [providerUid, externalId]))?.identityUid;
};
