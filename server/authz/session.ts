// What a sign-in gives besides its person's own rights: the roles to which the identity provider's mappings lead from
// the groups that the person was in (resources: ExternalGroupRoleMappings). Read anew like every right, so that a
// mapping that is deleted gives nothing any more.

import { rootOf } from "#base/uid.ts";
import type { Read } from "#store";
import { namesOf, type Rights, suspendedStatus } from "./rights.ts";

const statement = `
  select mapping.scope, role.capabilities, (extract(epoch from session.expire_time) * 1000)::bigint, organization.status
  from sessions as session
  join external_group_role_mappings as mapping
    on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)
  where session.id = $1 and session.identity_uid = $2`;

/**
 * The rights with those of the session added, until it ends. They were read before, so that their witness is not
 * younger than what is added here: what changes in between makes it wrong.
 */
export const withSession = async (read: Read, rights: Rights, session: string, nowMs: number): Promise<Rights> => {
  const rows = await read.query(statement, [session, rights.uid]);
  const grants = [...rights.grants];
  const suspended = new Set(rights.suspended);
  let { untilMs } = rights;
  for (const [scope, capabilities, ends, status] of rows) {
    const endMs = Number(ends);
    if (!scope || !capabilities || endMs <= nowMs) continue;
    untilMs = Math.min(untilMs, endMs);
    if (status === suspendedStatus) suspended.add(rootOf(scope));
    else grants.push({ place: scope, capabilities: namesOf(capabilities) });
  }
  return { ...rights, grants, suspended: [...suspended], untilMs };
};
