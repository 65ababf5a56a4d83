// The organization that an empty server makes for itself, so that there is one to try it with.

import { text } from "#base/json.ts";
import type { OperatorCall } from "./operator-calls.ts";

const groupsService = "chainguard.platform.iam.v2.GroupsService";

/** Makes it where there is none: once, also when several servers start at the same time. Returns its uid, undefined where there was one. */
export const makeFirstOrganization = async (call: OperatorCall): Promise<string | undefined> => {
  const { totalCount } = await call(`${groupsService}/ListGroups`, { uidp: { inRoot: true }, pageSize: 1 });
  if (totalCount !== "0") return undefined;
  const made = await call(`${groupsService}/CreateGroup`, { group: { name: "first-organization" } }, { idempotencyKey: "first organization" });
  return text(made, "uid");
};
