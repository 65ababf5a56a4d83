// Sessions: sign-ins with rights of their own, from the groups that the provider says a person is in (resources:
// ExternalGroupRoleMappings). A session's rights are added to the person's, for the tokens of this sign-in alone, and
// end with it; a sign-in to which no mapping applies needs none. What a session gives is read with every request
// (withSession of server/authz/rights.ts), so that a mapping that is deleted gives nothing from then on.

import { randomBytes } from "node:crypto";
import { timestamp } from "#base/time.ts";
import type { Write } from "#store";

export interface NewSession {
  readonly identity: string;
  readonly identityProvider: string;
  /** As the provider told them. Those that no mapping names are not kept. */
  readonly groups: readonly string[];
  readonly nowMs: number;
  readonly untilMs: number;
}

/** The id of a new session; undefined where no mapping of the provider names one of the groups. */
export const openSession = async (rows: Write, { identity, identityProvider, groups, nowMs, untilMs }: NewSession): Promise<string | undefined> => {
  if (groups.length === 0) return undefined;
  const [made] = await rows.query(
    `insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time)
     select $1, $2, $3, array_agg(distinct external_group_id), $5::timestamptz, $6::timestamptz from external_group_role_mappings
     where identity_provider_uid = $3 and external_group_id = any($4)
     having count(*) > 0 returning id`,
    [randomBytes(16).toString("hex"), identity, identityProvider, groups, timestamp(nowMs), timestamp(untilMs)],
  );
  return made?.[0] ?? undefined;
};
