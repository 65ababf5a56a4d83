// A role: a named set of capabilities. Built-in roles have no parent and cannot change; custom ones belong to a group.

import { builtInRoleUids } from "#authz";
import { blocked, type Violation } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { isRoot } from "#base/uid.ts";
import { capabilityBySymbol, sortCapabilities } from "#contract/capabilities.ts";
import { boundOf, change, type VisibilityQuery, type Outcome, remove, resource, type RuleContext, type WriteContext } from "#kernel";
import { listExpiredInvitesOfRole } from "#iam/store";
import { lockRow } from "#db";
import { forGood } from "./rules/grant.ts";

const managed = (uid: string) => blocked("MANAGED_ROLE", uid, ["built-in roles cannot be changed or deleted"]);

const rules = (draft: JsonObject, { before, parent, require, delegate }: RuleContext): Violation[] => {
  if (before && isRoot(text(before, "uid"))) throw managed(text(before, "uid"));
  const symbols = texts(draft, "capabilities");
  if (symbols.length === 0) return [{ field: "capabilities", description: "at least one capability is required" }];
  const facts = symbols.map(capabilityBySymbol);
  const unknown = symbols.find((_, index) => facts[index] === undefined);
  if (unknown !== undefined) return [{ field: "capabilities", description: `${unknown} cannot be granted` }];
  const internal = facts.find((fact) => fact?.internalOnly);
  if (internal && !symbols.includes("CAP_INTERNAL")) {
    return [{ field: "capabilities", description: `${internal.symbol} needs CAP_INTERNAL in the same role` }];
  }
  draft.capabilities = sortCapabilities(symbols);
  // decisions: Access. A caller can grant only permissions that it has.
  if (JSON.stringify(before?.capabilities) !== JSON.stringify(draft.capabilities)) {
    const capabilities = facts.flatMap((fact) => (fact ? [fact.name] : []));
    // An existing role may have permanent bindings; a new one has none.
    if (before) delegate({ ...forGood, rights: [{ capabilities, path: parent }] });
    else require(capabilities, parent);
  }
  return [];
};

const alsoVisible = async ({ only }: VisibilityQuery): Promise<readonly string[]> =>
  only === undefined ? builtInRoleUids : builtInRoleUids.filter((uid) => uid === only);

const deleteRole = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.Role");
  const uid = text(context.request, "uid");
  if (builtInRoleUids.includes(uid)) throw managed(uid);
  // Grants lock the role's row (rules/grant.ts): after this lock there are no new ones.
  await lockRow(context.rows, found.shape.table, uid);
  const invite = boundOf(context, "chainguard.platform.iam.v2.GroupInvite");
  for (const expired of await listExpiredInvitesOfRole(context.rows, uid, context.nowMs))
    await change(context, invite, { kind: "delete", uid: expired }, "row");
  return remove(found)(context);
};

export const role = resource({
  service: "chainguard.platform.iam.v2.RolesService",
  message: "chainguard.platform.iam.v2.Role",
  table: "roles",
  rules,
  alsoVisible,
  methods: { DeleteRole: { writes: deleteRole } },
});
