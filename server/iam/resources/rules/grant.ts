// May this caller hand out this role here? Asked by everything that promises one: bindings, invites, identity
// providers' default roles, mappings (decisions: Access).

import { builtInRoleUids, capabilityNames } from "#authz";
import { covers, isRoot, parentOf } from "#base/uid.ts";
import { type JsonObject, text } from "#base/json.ts";
import type { Gift, WriteContext } from "#kernel";
import { lockRow } from "#db";

/**
 * What is wrong with `role` at `place`, as a violation's description; undefined where it can be given there. The role
 * stays until the transaction ends. Throws PERMISSION_DENIED where the caller lacks one of its capabilities there, or
 * the gift would outlive the caller's right; without `gift` nothing is given, and holding them now is enough.
 */
export const grantProblem = async (
  role: string,
  place: string,
  { rows, require, handOn }: Pick<WriteContext, "rows" | "require" | "handOn">,
  gift: Omit<Gift, "rights"> | undefined,
): Promise<string | undefined> => {
  const visible = builtInRoleUids.includes(role) || (!isRoot(role) && covers(parentOf(role), place));
  const row = visible ? await lockRow(rows, { name: "roles", columns: ["capabilities"] }, role, "key share") : undefined;
  if (!row) return "must be a built-in role, or one of this group or of one above it";
  const capabilities = [...capabilityNames(row[0] ?? "[]")];
  if (gift) handOn({ ...gift, rights: [{ capabilities, path: place }] });
  else require(capabilities, place);
  return undefined;
};

/** A gift without an end. */
export const forGood = { untilMs: Number.POSITIVE_INFINITY };

/** When a resource with an `expireTime` ends, in milliseconds since 1970; Infinity: never. */
export const endOf = (record: JsonObject): number => {
  const expireTime = text(record, "expireTime");
  return expireTime === "" ? Number.POSITIVE_INFINITY : Date.parse(expireTime);
};

/** What is wrong with a new end. One that has passed may stay as it is. */
export const endProblem = (draft: JsonObject, before: JsonObject | undefined, nowMs: number): string | undefined =>
  text(draft, "expireTime") !== text(before ?? {}, "expireTime") && endOf(draft) <= nowMs ? "must be in the future" : undefined;
