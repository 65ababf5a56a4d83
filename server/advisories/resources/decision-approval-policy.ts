// An approval policy: decisions about findings in a group and below need the approval of another identity (docs/decisions/0092).

import { quotaExceeded, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { resource, type RuleContext } from "#kernel";
import { countApprovalPolicies, lockFindingDecisions } from "#advisories/store";

const rules = async (_draft: JsonObject, { rows, parent, isUndelete }: RuleContext): Promise<Violation[]> => {
  const organization = rootOf(parent);
  // A decision that is being created either sees the policy, or is committed before it.
  await lockFindingDecisions(rows, organization);
  if (!isUndelete && (await countApprovalPolicies(rows, organization)) >= limits.approvalPoliciesEach)
    throw quotaExceeded(
      `The organization has ${limits.approvalPoliciesEach} approval policies: delete some of them`,
      `organization:${organization}`,
      `approval policies: at most ${limits.approvalPoliciesEach} in one organization`,
    );
  return [];
};

export const decisionApprovalPolicy = resource({
  service: "gantry.decisions.v1.DecisionApprovalPoliciesService",
  message: "gantry.decisions.v1.DecisionApprovalPolicy",
  table: "decision_approval_policies",
  rules,
});
