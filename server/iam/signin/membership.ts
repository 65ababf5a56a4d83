// A user's answer to an organization that has created role bindings for the user (docs/decisions/0021, 0067), by the operation or on a
// page.

import { blocked } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findPersonOrganization, insertMembership, insertMembershipDecline, type PersonOrganization } from "#iam/store";
import { lockRow, type Write } from "#db";

const membershipStateOf = ({ acceptTime, declineTime }: PersonOrganization): string =>
  acceptTime !== undefined ? "MEMBERSHIP_STATE_ACCEPTED" : declineTime !== undefined ? "MEMBERSHIP_STATE_DECLINED" : "MEMBERSHIP_STATE_PENDING";

/** As the contract shows it (gantry.memberships.v1.Membership). */
export const membershipOf = (identityUid: string, organization: PersonOrganization): JsonObject => {
  const { uid, name, acceptTime, requestTime } = organization;
  const state = membershipStateOf(organization);
  return {
    organizationUid: uid,
    organizationName: name,
    identityUid,
    accepted: acceptTime !== undefined,
    ...(acceptTime === undefined ? {} : { acceptTime }),
    state,
    ...(state === "MEMBERSHIP_STATE_PENDING" && requestTime !== undefined ? { requestTime } : {}),
  };
};

export interface Answered {
  readonly membership: JsonObject;
  /** False where it was so before. */
  readonly made: boolean;
}

/** Whether a group itself is there is not asked: whoever is bound in one group need not see the others. */
const lockOrganization = async (rows: Write, identityUid: string, group: string): Promise<PersonOrganization | undefined> => {
  // Kept, for a row made after the end of either would outlive it. In the order in which a deletion takes them.
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, rootOf(group), "key share"))) return undefined;
  if (!(await lockRow(rows, { name: "identities", columns: ["uid"] }, identityUid, "key share"))) return undefined;
  return findPersonOrganization(rows, identityUid, rootOf(group));
};

/**
 * Makes the user a member of the organization of this group, also one who has declined. Returns undefined unless the organization has
 * a role binding for the user, or the user has answered before.
 */
export const acceptOrganization = async (rows: Write, identityUid: string, group: string, nowMs: number): Promise<Answered | undefined> => {
  const organization = await lockOrganization(rows, identityUid, group);
  if (!organization) return undefined;
  const acceptTime = timestamp(nowMs);
  const made = await insertMembership(rows, { group, identityUid, basis: "acceptance", createTime: acceptTime });
  return { membership: membershipOf(identityUid, made ? { ...organization, acceptTime } : organization), made };
};

/**
 * Writes down that the user declines. Returns undefined as acceptOrganization does; throws FAILED_PRECONDITION for a member, whom only
 * the organization can remove.
 */
export const declineOrganization = async (rows: Write, identityUid: string, group: string, nowMs: number): Promise<Answered | undefined> => {
  const organization = await lockOrganization(rows, identityUid, group);
  if (!organization) return undefined;
  if (organization.acceptTime !== undefined)
    throw blocked("MEMBERSHIP_ACCEPTED", organization.uid, ["you are a member already: ask the organization to delete your role bindings"]);
  const declineTime = timestamp(nowMs);
  const made = await insertMembershipDecline(rows, { group, identityUid, createTime: declineTime });
  return { membership: membershipOf(identityUid, made ? { ...organization, declineTime } : organization), made };
};
