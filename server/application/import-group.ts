// The group that an import is for.

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import type { OperatorCall } from "./operator-calls.ts";

const groupsService = "chainguard.platform.iam.v2.GroupsService";

/**
 * decisions: Command line. The only organization where no group is named. Returns the group's uid.
 * @param option where `uid` was read, for the Fault that says it is none
 */
export const findImportGroup = async (call: OperatorCall, uid: string | undefined, option: string): Promise<string> => {
  if (uid !== undefined) {
    if (!isUid(uid)) throw new Fault("INVALID_ARGUMENT", `${option} must be a uid, not ${JSON.stringify(uid)}`);
    const group: JsonObject = await call(`${groupsService}/GetGroup`, { uid });
    return text(group, "uid");
  }
  const { groups } = await call(`${groupsService}/ListGroups`, { uidp: { inRoot: true }, pageSize: 2 });
  const [only, other] = Array.isArray(groups) ? groups.filter(isObject) : [];
  if (!only) throw new Fault("FAILED_PRECONDITION", "there is no organization yet; start the server once, or name a group with --group UID");
  if (other) throw new Fault("FAILED_PRECONDITION", "there is more than one organization; name the group with --group UID");
  return text(only, "uid");
};
