// Sessions: sign-ins with rights of their own, from the groups that the provider says a person is in.

import { timestamp } from "#base/time.ts";
import { deleteRows, type Retention, type Write } from "#db";

export interface SessionRow {
  readonly id: string;
  readonly identityUid: string;
  readonly identityProviderUid: string;
  /** As the provider names them. */
  readonly groups: readonly string[];
  /** Milliseconds since 1970. */
  readonly createTimeMs: number;
  readonly expireTimeMs: number;
}

/**
 * Stores a session with those of the groups that a mapping of the provider names; false, and nothing is stored, where
 * none of them is named. Of somebody whom SCIM has announced one mapping of the provider is enough: they may come into its group.
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

/** Ends what a person was given by this provider's sign-ins. */
export const deleteSessionsThrough = async (rows: Write, identityProviderUid: string, identityUid: string): Promise<void> => {
  await rows.query("delete from sessions where identity_uid = $2 and identity_provider_uid = $1", [identityProviderUid, identityUid]);
};

export const sessionsRetention: Retention = {
  table: "sessions",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "sessions", where: "expire_time < $1", order: "expire_time" }, [timestamp(nowMs)]),
};
