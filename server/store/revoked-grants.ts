// Grants that were taken back: access tokens that name one are refused. Kept for as long as such a token may live.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Read, Write } from "./handle.ts";
import { deleteRows, type Retention } from "./retention.ts";

export const insertRevokedGrant = async (rows: Write, grantId: string, nowMs: number): Promise<void> => {
  await rows.query("insert into revoked_grants (grant_id, expire_time) values ($1, $2) on conflict (grant_id) do nothing", [
    grantId,
    timestamp(nowMs + limits.accessTokenLifetimeMs),
  ]);
};

export const isGrantRevoked = async (rows: Read, grantId: string): Promise<boolean> =>
  (await rows.query("select 1 from revoked_grants where grant_id = $1", [grantId])).length > 0;

export const revokedGrantsRetention: Retention = {
  table: "revoked_grants",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "revoked_grants", where: "expire_time <= $1", order: "expire_time" }, [timestamp(nowMs)]),
};
