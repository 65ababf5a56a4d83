// Table revoked_grants: access tokens with such a gantry_grant are refused. Kept as long as a token may be valid.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { deleteRows, type Read, type Retention, type Write } from "#db";

export const insertRevokedGrant = async (rows: Write, grantId: string, nowMs: number): Promise<void> => {
  await rows.query("insert into revoked_grants (grant_id, expire_time) values ($1, $2) on conflict (grant_id) do nothing", [
    grantId,
    // Tokens are accepted for some time after expiry, and a concurrent rotation may have a later clock.
    timestamp(nowMs + limits.accessTokenLifetimeMs + 2 * limits.clockSkewMs),
  ]);
};

export const isGrantRevoked = async (rows: Read, grantId: string): Promise<boolean> =>
  (await rows.query("select 1 from revoked_grants where grant_id = $1", [grantId])).length > 0;

export const revokedGrantsRetention: Retention = {
  table: "revoked_grants",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "revoked_grants", where: "expire_time <= $1", order: "expire_time" }, [timestamp(nowMs)]),
};
