// Accepts or declines memberships (docs/decisions/0067, 0067), for the API and the pages.

import { blocked } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { findPersonOrganization, insertMembership, insertMembershipDecline, type PersonOrganization } from "#iam/store";
import { lockRow, type Write } from "#db";

const membershipStateOf = ({ acceptTime, declineTime }: PersonOrganization): string =>
  acceptTime !== undefined ? "MEMBERSHIP_STATE_ACCEPTED" : declineTime !== undefined ? "MEMBERSHIP_STATE_DECLINED" : "MEMBERSHIP_STATE_PENDING";

/** Returns the contract's gantry.memberships.v1.Membership. */
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
  /** False if nothing changed. */
  readonly made: boolean;
}

/** The group itself need not exist: a user bound in one group may not see the others. */
const lockOrganization = async (rows: Write, identityUid: string, group: string): Promise<PersonOrganization | undefined> => {
  // Both rows must outlive the membership. Locked in the order of a deletion.
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, rootOf(group), "key share"))) return undefined;
  if (!(await lockRow(rows, { name: "identities", columns: ["uid"] }, identityUid, "key share"))) return undefined;
  return findPersonOrganization(rows, identityUid, rootOf(group));
};

/** Makes the user a member of the group's organization, also after a decline. Returns undefined without a role binding or earlier answer. */
export const acceptOrganization = async (rows: Write, identityUid: string, group: string, nowMs: number): Promise<Answered | undefined> => {
  const organization = await lockOrganization(rows, identityUid, group);
  if (!organization) return undefined;
  const acceptTime = timestamp(nowMs);
  const made = await insertMembership(rows, { group, identityUid, basis: "acceptance", createTime: acceptTime });
  return { membership: membershipOf(identityUid, made ? { ...organization, acceptTime } : organization), made };
};

/** Stores a decline. Returns undefined like acceptOrganization. Throws FAILED_PRECONDITION for a member: only the organization can remove members. */
export const declineOrganization = async (rows: Write, identityUid: string, group: string, nowMs: number): Promise<Answered | undefined> => {
  const organization = await lockOrganization(rows, identityUid, group);
  if (!organization) return undefined;
  if (organization.acceptTime !== undefined)
    throw blocked("MEMBERSHIP_ACCEPTED", organization.uid, ["you are a member already: ask the organization to delete your role bindings"]);
  const declineTime = timestamp(nowMs);
  const made = await insertMembershipDecline(rows, { group, identityUid, createTime: declineTime });
  return { membership: membershipOf(identityUid, made ? { ...organization, declineTime } : organization), made };
};
