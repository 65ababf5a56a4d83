// Texts of approvals of decisions.

import { counted } from "./numbers.ts";
import { texts as decisions } from "./decisions.ts";

export const texts = {
  ...decisions,

  pendingTitle: "Waiting for an approval",
  pendingText: "Decisions of this group and everything below it that suppress nothing yet. The author of a decision cannot approve it.",
  noPendingTitle: "No decision waits for an approval",
  noPendingText: "Decisions that need one appear here until another person approves or withdraws them.",
  policies: "Approval policies",
  policiesText: "A decision that suppresses findings then needs the approval of a second person. Groups below cannot change that.",
  policiesHere: "Policies of this group and of the groups above it. They apply to decisions here.",
  policiesBelow: "Policies of this group and of the groups below it.",
  scopes: "Which policies",
  policyCount: (number: number): string => counted(number, "policy", "policies"),
  noPoliciesTitle: "Decisions count at once",
  noPoliciesText: "No approval policy applies here: the person who decides on a finding needs no second person.",
  setAt: "Set at",
  addPolicy: "Require approvals",
  policyReason: "Reason (optional)",
  policyReasonHint: "Others read it when their decision waits.",
  policyEffect: "It applies to decisions that are created or restored from now on, here and below. Decisions that exist stay as they are.",
  policyAdded: "Approvals are required",
  noReason: "No reason given",
  deletePolicy: "Delete the policy",
  deletePolicyAt: (place: string): string => `Delete the policy of ${place}`,
  policyOf: (place: string): string => `the approval policy of ${place}`,
  deletePolicyText: "New decisions count at once, unless another policy applies. Pending decisions stay pending.",
  policyDeleted: "Policy deleted",
} as const;
