// Requests about approval policies of decisions.

import type { DecisionApprovalPolicy, DecisionApprovalPolicyInput, ListDecisionApprovalPoliciesResponse } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";

export const requireApprovalCapability = "gantry.findings.require_approval";

export const policiesAt = (scope: Scope, skip: number): Question<ListDecisionApprovalPoliciesResponse> => {
  const request = { uidp: scope, ...pageFrom(skip) };
  return {
    name: "findings.decision-approval-policies.list",
    request,
    send: (gantry, signal) => gantry.findings.decisionApprovalPolicies.list(request, { signal }).page(),
  };
};

export const createPolicy = (parent: string, decisionApprovalPolicy: DecisionApprovalPolicyInput): Question<DecisionApprovalPolicy> => ({
  name: "findings.decision-approval-policies.create",
  request: { parent, decisionApprovalPolicy },
  send: (gantry, signal) => gantry.findings.decisionApprovalPolicies.create({ parent, decisionApprovalPolicy }, { signal }),
});

export const deletePolicy = (uid: string): Question<void> => ({
  name: "findings.decision-approval-policies.delete",
  request: { uid },
  send: (gantry, signal) => gantry.findings.decisionApprovalPolicies.delete({ uid }, { signal }),
});
