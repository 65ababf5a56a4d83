// What a directory is answered where its organization has no room for more people (quota scim-users). Whom its providers have removed are
// counted, too (store/migrations/0033_bounds_of_scim.sql): they are kept out by a row each, so that deleting users makes no room.

import { quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota } from "#store";

/** Runs a statement that makes this user, or keeps whom it was before. Throws RESOURCE_EXHAUSTED where there is no room. */
export const namingPeopleQuota = async <T>(userUid: string, statement: Promise<T>): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    const exceeded = exceededQuota(thrown);
    if (!exceeded) throw thrown;
    const { name, value } = exceeded;
    const organization = rootOf(userUid);
    const message =
      `the organization ${organization} may have ${value} users of SCIM, those who were removed included (quota ${name}), and there is no room for more: ` +
      "ask the operator of the server, who raises it with gantry admin quota";
    throw quotaExceeded(message, `organization:${organization}`, `${name}: at most ${value} in one organization`, name);
  }
};
