// A mapping assigns a role, for a session, to users who sign in as members of an external group.

import { FoundViolations, invalid, type Violation } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { boundOf, change, holdParent, lockResource, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { forGood, grantProblem } from "./rules/grant.ts";

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { parent } = context;
  draft.identityProviderUid = parent;
  const violations = ["externalGroupId", "roleUid", "scope"]
    .filter((field) => text(draft, field) === "")
    .map((field) => ({ field, description: `${field} is required` }));
  const scope = text(draft, "scope");
  // resources: ExternalGroupRoleMappings.
  if (scope !== "" && scope !== rootOf(parent)) violations.push({ field: "scope", description: "must be the organization of the identity provider" });
  if (violations.length > 0) return violations;
  const problem = await grantProblem(text(draft, "roleUid"), scope, context, forGood);
  return problem === undefined ? [] : [{ field: "roleUid", description: problem }];
};

/** Deletes mappings of one provider, all or none; ignores missing ones. */
const batchDelete = async (context: WriteContext): Promise<Outcome> => {
  const { request } = context;
  const mapping = boundOf(context, "chainguard.platform.iam.v2.ExternalGroupRoleMapping");
  const parent = text(request, "parent");
  const names = texts(request, "names");
  // Attack 4: a batch that checks only its first item.
  const found = new FoundViolations();
  for (const [index, name] of names.entries()) if (parentOf(name) !== parent) found.add(`names[${index}]`, "is not a mapping of the batch's parent");
  if (found.list.length > 0) throw invalid(found.list);
  holdParent(context, mapping, parent);
  const deleted: JsonObject[] = [];
  // Sorted, so that concurrent deletions cannot deadlock.
  for (const uid of [...new Set(names)].sort()) {
    const record = await lockResource(context, mapping, uid);
    if (!record) continue;
    await change(context, mapping, { kind: "delete", uid }, "cause");
    deleted.push(record);
  }
  return { reply: { parent, externalGroupRoleMappings: deleted }, unchanged: deleted.length === 0 };
};

export const externalGroupRoleMapping = resource({
  service: "chainguard.platform.iam.v2.ExternalGroupRoleMappingsService",
  message: "chainguard.platform.iam.v2.ExternalGroupRoleMapping",
  table: "external_group_role_mappings",
  rules,
  methods: { BatchDeleteExternalGroupRoleMappings: { writes: batchDelete } },
});
