// May this caller hand out this role here? Asked by everything that promises one: bindings, invites, identity
// providers' default roles, mappings (decisions: Access).

import { builtInRoleUids, capabilityNames } from "#authz";
import { covers, isRoot, parentOf } from "#base/uid.ts";
import type { WriteContext } from "#kernel";
import { lockRow } from "#store";

/**
 * What is wrong with `role` at `place`, as a violation's description; undefined where it can be given there. The role
 * stays until the transaction ends. Throws PERMISSION_DENIED where the caller lacks one of its capabilities there, or
 * holds it for a shorter time than it is given for (`untilMs`; Infinity: for good).
 */
export const grantProblem = async (
  role: string,
  place: string,
  { rows, require }: Pick<WriteContext, "rows" | "require">,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<string | undefined> => {
  const visible = builtInRoleUids.includes(role) || (!isRoot(role) && covers(parentOf(role), place));
  const row = visible ? await lockRow(rows, { name: "roles", columns: ["capabilities"] }, role, "key share") : undefined;
  if (!row) return "must be a built-in role, or one of this group or of one above it";
  require(capabilityNames(row[0] ?? "[]"), place, untilMs);
  return undefined;
};
