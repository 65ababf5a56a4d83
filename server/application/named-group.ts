// Resolves a group named on the command line, by UID or by its path of names from an organization.

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import type { OperatorCall } from "./operator-calls.ts";

const groupsService = "chainguard.platform.iam.v2.GroupsService";

const listedMax = 8;

const listGroups = async (call: OperatorCall, request: JsonObject): Promise<JsonObject[]> => {
  const { groups } = await call(`${groupsService}/ListGroups`, { ...request, pageSize: listedMax + 1 });
  return Array.isArray(groups) ? groups.filter(isObject) : [];
};

/** "0a1b… (acme), 2c3d… (other)" */
const uidsAndNames = (groups: readonly JsonObject[]): string => {
  const names = groups.slice(0, listedMax).map((group) => `${text(group, "uid")} (${text(group, "name")})`);
  return `${names.join(", ")}${groups.length > listedMax ? " and others" : ""}`;
};

/**
 * Returns the group's UID; a UID is returned unchecked. Ambiguous names are refused (attack 143). @param label prefix of errors, such
 * as "--group: "
 */
export const findNamedGroup = async (call: OperatorCall, place: string, label: string): Promise<string> => {
  if (isUid(place)) return place;
  let uid = "";
  for (const name of place.split("/")) {
    const found = name === "" ? [] : await listGroups(call, { name, uidp: uid === "" ? { inRoot: true } : { childrenOf: uid } });
    const [only, ...others] = found;
    if (only === undefined) throw new Fault("NOT_FOUND", `${label}group ${JSON.stringify(place)} not found`);
    if (others.length > 0)
      throw new Fault("INVALID_ARGUMENT", `${label}${JSON.stringify(name)} is ambiguous: several groups have this name. Give the uid: ${uidsAndNames(found)}`);
    uid = text(only, "uid");
  }
  return uid;
};

/**
 * decisions: Command line. Returns the UID of an import's group, by default the only organization. @param option name for errors.
 * GANTRY_FEEDS accepts no names, because a user could stop the start by creating an organization with the same name
 */
export const findImportGroup = async (call: OperatorCall, uid: string | undefined, option: string): Promise<string> => {
  if (uid !== undefined) {
    if (!isUid(uid)) throw new Fault("INVALID_ARGUMENT", `${option} must be a uid, not ${JSON.stringify(uid)}`);
    const group: JsonObject = await call(`${groupsService}/GetGroup`, { uid });
    return text(group, "uid");
  }
  const organizations = await listGroups(call, { uidp: { inRoot: true }, orderBy: "name" });
  const [only, ...others] = organizations;
  if (only === undefined) throw new Fault("FAILED_PRECONDITION", "no organization exists. Start the server once, or name a group with --group");
  if (others.length > 0) throw new Fault("FAILED_PRECONDITION", `several organizations exist. Name the group with --group: ${uidsAndNames(organizations)}`);
  return text(only, "uid");
};
