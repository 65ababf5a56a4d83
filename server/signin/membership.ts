// Agreeing to belong to an organization that has bound one's uid (docs/decisions/0021), by the operation or on a page.

import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findPersonOrganization, insertMembership, lockRow, type PersonOrganization, type Write } from "#store";

/** As the contract shows it (gantry.memberships.v1.Membership). */
export const membershipOf = (identityUid: string, { uid, name, acceptTime }: PersonOrganization): JsonObject => ({
  organizationUid: uid,
  organizationName: name,
  identityUid,
  accepted: acceptTime !== undefined,
  ...(acceptTime === undefined ? {} : { acceptTime }),
});

export interface Agreed {
  readonly membership: JsonObject;
  /** False where it was so before. */
  readonly made: boolean;
}

/**
 * The person's word for the organization of this group. Undefined where there is none that has bound them. Whether the group
 * itself is there is not asked: whoever is bound in one group need not see the others.
 */
export const agreeToOrganization = async (rows: Write, identityUid: string, group: string, nowMs: number): Promise<Agreed | undefined> => {
  // Kept, for a row made after the end of either would outlive it. In the order in which a deletion takes them.
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, rootOf(group), "key share"))) return undefined;
  if (!(await lockRow(rows, { name: "identities", columns: ["uid"] }, identityUid, "key share"))) return undefined;
  const organization = await findPersonOrganization(rows, identityUid, rootOf(group));
  if (!organization) return undefined;
  const acceptTime = timestamp(nowMs);
  const made = await insertMembership(rows, { group, identityUid, basis: "acceptance", createTime: acceptTime });
  return { membership: membershipOf(identityUid, made ? { ...organization, acceptTime } : organization), made };
};
