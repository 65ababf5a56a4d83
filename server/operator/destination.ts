// The group that an import is for.

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import type { Application } from "./application.ts";

/** decisions: Command line. The only organization, unless the option names another place. */
export const destination = async ({ call }: Pick<Application, "call">, given: string | undefined, option: string): Promise<string> => {
  if (given !== undefined) {
    if (!isUid(given)) throw new Fault("INVALID_ARGUMENT", `${option} must be a uid, not ${JSON.stringify(given)}`);
    const group: JsonObject = await call("chainguard.platform.iam.v2.GroupsService/GetGroup", { uid: given });
    return text(group, "uid");
  }
  const { groups } = await call("chainguard.platform.iam.v2.GroupsService/ListGroups", { uidp: { inRoot: true }, pageSize: 2 });
  const roots = Array.isArray(groups) ? groups.filter(isObject) : [];
  const [only, other] = roots;
  if (!only) throw new Fault("FAILED_PRECONDITION", "there is no organization yet; start the server once, or name a group with --group UID");
  if (other) throw new Fault("FAILED_PRECONDITION", "there is more than one organization; name the group with --group UID");
  return text(only, "uid");
};
