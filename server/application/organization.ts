// Suspends and resumes organizations. Their status is output-only in the contract; the operator sets it.

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { boundOf, change, changeContext, lockResource } from "#kernel";
import type { Application } from "./application.ts";
import { commandCause, recordCommand } from "./command-record.ts";

const groupsService = "chainguard.platform.iam.v2.GroupsService";

const findOrganization = async ({ call }: Pick<Application, "call">, uidOrName: string): Promise<JsonObject> => {
  if (isUid(uidOrName)) {
    if (!isRoot(uidOrName)) throw new Fault("INVALID_ARGUMENT", `${uidOrName} is not an organization but a group in one. Name the organization`);
    return call(`${groupsService}/GetGroup`, { uid: uidOrName });
  }
  const { groups } = await call(`${groupsService}/ListGroups`, { name: uidOrName, uidp: { inRoot: true }, pageSize: 2 });
  const [only, other] = Array.isArray(groups) ? groups.filter(isObject) : [];
  if (!only) throw new Fault("NOT_FOUND", `organization ${JSON.stringify(uidOrName)} not found`);
  if (other) throw new Fault("FAILED_PRECONDITION", `organization ${JSON.stringify(uidOrName)} is ambiguous: several have this name. Give the uid`);
  return only;
};

/** Suspends or resumes an organization. Throws a one-line Fault if none or several match. */
export const setSuspended = async (
  application: Pick<Application, "call" | "kernel" | "services">,
  uidOrName: string,
  suspended: boolean,
): Promise<{ readonly uid: string; readonly name: string }> => {
  const organization = await findOrganization(application, uidOrName);
  const { kernel, services } = application;
  const uid = text(organization, "uid");
  const command = suspended ? "suspend" : "resume";
  await services.store.write(async (rows) => {
    const context = changeContext(kernel, rows, commandCause(command));
    const group = boundOf(context, "chainguard.platform.iam.v2.Group");
    const before = await lockResource(context, group, uid);
    if (!before) return;
    const columns = { status: suspended ? "ORG_STATUS_SUSPENDED" : "ORG_STATUS_READY" };
    await change(context, group, { kind: "update", before, columns }, "cause");
    await recordCommand(rows, services, command, `dev.gantry.organization.${suspended ? "suspended" : "resumed"}.v1`, uid);
  });
  return { uid, name: text(organization, "name") };
};
