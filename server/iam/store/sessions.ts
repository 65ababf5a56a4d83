// Table sessions: sign-ins with permissions from the provider's groups.

import { timestamp } from "#base/time.ts";
import { deleteRows, type Retention, type Write } from "#db";

export interface SessionRow {
  readonly id: string;
  readonly identityUid: string;
  readonly identityProviderUid: string;
  readonly groups: readonly string[];
  readonly createTimeMs: number;
  readonly expireTimeMs: number;
}

/**
 * Inserts a session with those groups that a mapping names; returns false if there are none. For a SCIM user any mapping is enough,
 * because the user may join its group later.
 */
export const insertSession = async (
  rows: Write,
  { id, identityUid, identityProviderUid, groups, createTimeMs, expireTimeMs }: SessionRow,
  isProvisioned: boolean,
): Promise<boolean> => {
  const inserted = await rows.query(
    `insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time)
     select $1, $2, $3, coalesce(array_agg(distinct external_group_id) filter (where external_group_id = any($4)), '{}'), $5::timestamptz, $6::timestamptz
     from external_group_role_mappings where identity_provider_uid = $3
     having count(*) filter (where $7::boolean or external_group_id = any($4)) > 0 returning id`,
    [id, identityUid, identityProviderUid, groups, timestamp(createTimeMs), timestamp(expireTimeMs), isProvisioned],
  );
  return inserted.length > 0;
};

export const deleteSessionsThrough = async (rows: Write, identityProviderUid: string, identityUid: string): Promise<void> => {
  await rows.query("delete from sessions where identity_uid = $2 and identity_provider_uid = $1", [identityProviderUid, identityUid]);
};

export const sessionsRetention: Retention = {
  table: "sessions",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "sessions", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs)]),
};
