// Requests about decisions.

import type { FindingDecision, FindingDecisionInput, ListFindingDecisionsResponse } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { pageFrom } from "../questions.ts";

export const decideCapability = "gantry.findings.decide";

export const pendingApproval = "FINDING_DECISION_APPROVAL_STATE_PENDING";

export const decisionsIn = (group: string, skip: number): Question<ListFindingDecisionsResponse> => {
  const request = { uidp: { descendantsOf: group }, orderBy: "create_time desc", ...pageFrom(skip) };
  return { name: "findings.decisions.list", request, send: (gantry, signal) => gantry.findings.decisions.list(request, { signal }).page() };
};

/** Decisions of a group and everything below it that wait for an approval. */
export const pendingIn = (group: string, skip: number): Question<ListFindingDecisionsResponse> => {
  const request = {
    uidp: { descendantsOf: group },
    approvalState: pendingApproval,
    orderBy: "create_time desc",
    ...pageFrom(skip),
  } as const;
  return { name: "findings.decisions.list", request, send: (gantry, signal) => gantry.findings.decisions.list(request, { signal }).page() };
};

export const createDecision = (parent: string, findingDecision: FindingDecisionInput): Question<FindingDecision> => ({
  name: "findings.decisions.create",
  request: { parent, findingDecision },
  send: (gantry, signal) => gantry.findings.decisions.create({ parent, findingDecision }, { signal }),
});

/** Counts the findings that such a decision matches, and creates nothing. */
export const effectOf = (
  parent: string,
  scope: Pick<FindingDecisionInput, "vulnerability" | "packageName" | "repoUid" | "digest">,
): Question<FindingDecision> => {
  const findingDecision: FindingDecisionInput = { ...scope, state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "-" };
  return {
    name: "findings.decisions.create (validateOnly)",
    request: { parent, findingDecision },
    send: (gantry, signal) => gantry.findings.decisions.create({ parent, findingDecision }, { signal, validateOnly: true }),
  };
};

export const approveDecision = (uid: string): Question<FindingDecision> => ({
  name: "findings.decisions.approve",
  request: { uid },
  send: (gantry, signal) => gantry.findings.decisions.approve({ uid }, { signal }),
});

export const deleteDecision = (uid: string): Question<void> => ({
  name: "findings.decisions.delete",
  request: { uid },
  send: (gantry, signal) => gantry.findings.decisions.delete({ uid }, { signal }),
});
