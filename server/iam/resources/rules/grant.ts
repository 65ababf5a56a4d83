// Checks grants of a role: bindings, invites, default roles of identity providers, mappings (decisions: Access).

import { builtInRoleUids, capabilityNames } from "#authz";
import { covers, isRoot, parentOf } from "#base/uid.ts";
import { type JsonObject, text } from "#base/json.ts";
import type { Delegation, WriteContext } from "#kernel";
import { lockRow } from "#db";

/**
 * Returns why `role` cannot be granted at `place`, as a violation's description; undefined if it can. Locks the role against
 * deletion. Throws PERMISSION_DENIED if the caller lacks one of its capabilities there, or if the grant would outlive the caller's
 * permission. Without `delegation` nothing is granted, and the caller's current capabilities suffice.
 */
export const grantProblem = async (
  role: string,
  place: string,
  { rows, require, delegate }: Pick<WriteContext, "rows" | "require" | "delegate">,
  delegation: Omit<Delegation, "rights"> | undefined,
): Promise<string | undefined> => {
  const visible = builtInRoleUids.includes(role) || (!isRoot(role) && covers(parentOf(role), place));
  const row = visible ? await lockRow(rows, { name: "roles", columns: ["capabilities"] }, role, "key share") : undefined;
  if (!row) return "must be a built-in role, or one of this group or of one above it";
  const capabilities = [...capabilityNames(row[0] ?? "[]")];
  if (delegation) delegate({ ...delegation, rights: [{ capabilities, path: place }] });
  else require(capabilities, place);
  return undefined;
};

export const forGood = { untilMs: Number.POSITIVE_INFINITY };

/** Returns the expiry of a resource with an `expireTime`, in milliseconds since 1970; Infinity: never. */
export const endOf = (record: JsonObject): number => {
  const expireTime = text(record, "expireTime");
  return expireTime === "" ? Number.POSITIVE_INFINITY : Date.parse(expireTime);
};

/** Returns why a new expiry is invalid. An expiry in the past may stay unchanged. */
export const endProblem = (draft: JsonObject, before: JsonObject | undefined, nowMs: number): string | undefined =>
  text(draft, "expireTime") !== text(before ?? {}, "expireTime") && endOf(draft) <= nowMs ? "must be in the future" : undefined;
