// Rules of organization and group names (docs/decisions/0002). The alphabet is the contract's pattern; uniqueness is a unique index
// (server/db/migrations: group_names), so a taken name is ALREADY_EXISTS from the insert or update itself.

import { blocked, Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { EVERYWHERE, isRoot, newRoot } from "#base/uid.ts";
import { boundOf, change, lockResource, type RuleContext } from "#kernel";
import { countReservedNames, findNameClaim, findUnverifiedHolders, isNameShared } from "#iam/store";

const isOperator = ({ require }: RuleContext): boolean => {
  try {
    require(["internal"], EVERYWHERE);
    return true;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "PERMISSION_DENIED") return false;
    throw thrown;
  }
};

/**
 * Checks that an organization may change its name. Throws FAILED_PRECONDITION if another organization has the same name (its path
 * would then lead there, so the operator decides), or if too many names are reserved for this one.
 */
export const renameOrganization = async (draft: JsonObject, context: RuleContext): Promise<void> => {
  const { before, rows } = context;
  const [uid, name] = [text(draft, "uid"), text(before ?? {}, "name")];
  if (!before || name === text(draft, "name") || isOperator(context)) return;
  if (await isNameShared(rows, name, uid))
    throw blocked("NAME_SHARED", uid, [`cannot rename organization: another organization is also named ${name}. Ask the operator to rename one of them.`]);
  if ((await countReservedNames(rows, uid)) >= limits.reservedNamesMax)
    throw blocked("RESERVED_NAMES", uid, [
      `cannot rename organization: ${limits.reservedNamesMax} earlier names are reserved for it. Ask the operator to release some of them.`,
    ]);
};

/** Random, so that no other organization can take it first and block the eviction. */
const nameOfEvicted = (name: string): string => `${name.slice(0, 238)}-${newRoot().slice(0, 16)}`;

/**
 * Renames unverified organizations with the name of one that becomes verified, each with an event. A name that only looks the same
 * is ALREADY_EXISTS instead: it may be another domain.
 */
export const evictHolders = async (draft: JsonObject, context: RuleContext): Promise<void> => {
  const name = text(draft, "name");
  const groups = boundOf(context, "chainguard.platform.iam.v2.Group");
  for (const uid of await findUnverifiedHolders(context.rows, name, text(draft, "uid"))) {
    context.require(["internal"], EVERYWHERE);
    const before = await lockResource(context, groups, uid);
    if (before?.name !== name || before.verified === true) continue;
    await change(context, groups, { kind: "update", before, draft: { ...before, name: nameOfEvicted(name) } }, "row");
  }
};

/** Returns a violation if another group has taken the name of an undeleted one. */
export const undeletedNameViolations = async (draft: JsonObject, { isUndelete, parent, rows }: RuleContext): Promise<Violation[]> => {
  if (!isUndelete) return [];
  const [uid, name] = [text(draft, "uid"), text(draft, "name")];
  const claim = await findNameClaim(rows, isRoot(uid) ? "" : parent, name, uid);
  // A verified organization may take a reserved name.
  if (!claim || (!claim.held && draft.verified === true)) return [];
  return [{ field: "name", description: `is ${claim.held ? "taken by another group" : "reserved for another organization"}` }];
};
