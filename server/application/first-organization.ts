// Creates a first organization on an empty server, to try it with.

import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import type { OperatorCall } from "./operator-calls.ts";

const groupsService = "chainguard.platform.iam.v2.GroupsService";

/** Creates the organization if there is none, once over concurrent starts. Returns its UID, or undefined if one existed. */
export const makeFirstOrganization = async (call: OperatorCall): Promise<string | undefined> => {
  const { totalCount } = await call(`${groupsService}/ListGroups`, { uidp: { inRoot: true }, pageSize: 1 });
  if (totalCount !== "0") return undefined;
  // The name may be reserved for a deleted organization.
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? "" : ` ${number}`;
    try {
      const group = { name: `first-organization${suffix.replace(" ", "-")}` };
      return text(await call(`${groupsService}/CreateGroup`, { group }, { idempotencyKey: `first organization${suffix}` }), "uid");
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== "ALREADY_EXISTS" || number === 10) throw thrown;
    }
  }
};
