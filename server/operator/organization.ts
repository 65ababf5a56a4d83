// Suspending an organization, and letting it in again: its status is output only in the contract, and the operator's.

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { updateOrganizationStatus } from "#store";
import { recordCommand } from "./command-record.ts";
import type { Application } from "./application.ts";

const groups = "chainguard.platform.iam.v2.GroupsService";

/** The organization of this uid or name. */
const find = async ({ call }: Application, given: string): Promise<JsonObject> => {
  if (isUid(given)) {
    if (!isRoot(given)) throw new Fault("INVALID_ARGUMENT", `${given} is a group in an organization; name the organization`);
    return call(`${groups}/GetGroup`, { uid: given });
  }
  const { groups: found } = await call(`${groups}/ListGroups`, { name: given, uidp: { inRoot: true }, pageSize: 2 });
  const [only, other] = Array.isArray(found) ? found.filter(isObject) : [];
  if (!only) throw new Fault("NOT_FOUND", `there is no organization ${JSON.stringify(given)}`);
  if (other) throw new Fault("FAILED_PRECONDITION", `more than one organization has the name ${JSON.stringify(given)}; give its uid`);
  return only;
};

/** Closes an organization to its members, or opens it again. Returns it as it was, by uid and name. */
export const setSuspended = async (open: Application, given: string, suspended: boolean): Promise<{ readonly uid: string; readonly name: string }> => {
  const organization = await find(open, given);
  const uid = text(organization, "uid");
  const { store, clock } = open.services;
  const command = suspended ? "suspend" : "resume";
  await store.write(async (rows) => {
    await updateOrganizationStatus(rows, uid, suspended ? "ORG_STATUS_SUSPENDED" : "ORG_STATUS_READY", timestamp(clock()));
    await recordCommand(rows, open.services, command, `dev.gantry.organization.${suspended ? "suspended" : "resumed"}.v1`, uid);
  });
  return { uid, name: text(organization, "name") };
};
