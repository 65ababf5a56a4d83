// Texts of decisions about findings.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  inPackage: "in",
  decision: "Decision",
  decisionStates: {
    FINDING_DECISION_STATE_UNSPECIFIED: "Unknown",
    FINDING_DECISION_STATE_NOT_AFFECTED: "Not affected",
    FINDING_DECISION_STATE_ACCEPTED: "Accepted",
    FINDING_DECISION_STATE_UNDER_INVESTIGATION: "Under investigation",
    FINDING_DECISION_STATE_FALSE_POSITIVE: "False positive",
  },
  decisionEffects: {
    FINDING_DECISION_STATE_UNSPECIFIED: "",
    FINDING_DECISION_STATE_NOT_AFFECTED: "The findings leave the list until the advisory changes.",
    FINDING_DECISION_STATE_ACCEPTED: "The findings leave the list until the date, or until the advisory changes.",
    FINDING_DECISION_STATE_UNDER_INVESTIGATION: "The findings stay in the list.",
    FINDING_DECISION_STATE_FALSE_POSITIVE: "The findings leave the list until the advisory changes.",
  },
  vexTitle: "VEX statements attached to the image",
  vexText: "Claims of those who push to the repo. They change no finding: decide yourself.",
  vexClaimedBy: "claimed by",
  vexNobody: "nobody",
  justification: "Justification",
  justifications: {
    FINDING_DECISION_JUSTIFICATION_UNSPECIFIED: "",
    FINDING_DECISION_JUSTIFICATION_COMPONENT_NOT_PRESENT: "The component is not in the image",
    FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT: "The vulnerable code is not in the component",
    FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_IN_EXECUTE_PATH: "The vulnerable code never runs",
    FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY: "An attacker cannot control the vulnerable code",
    FINDING_DECISION_JUSTIFICATION_INLINE_MITIGATIONS_ALREADY_EXIST: "The image has a protection against it",
  },
  reason: "Reason",
  reasonHint: "Others read it when they ask why the finding is not listed.",
  acceptedUntil: "Accepted until",
  decisionExpiresHint: "At most a year. From then on, the findings are open again.",
  appliesIn: "Applies in",
  groupAndBelow: (name: string): string => `${name} and everything below it`,
  inRepo: (name: string): string => `The repo ${name}`,
  inThisImage: "This image",
  decisionConcerns: (number: number): string => `This concerns ${counted(number, "finding", "findings")} in images.`,
  counting: "Counting the findings…",
  decided: "Decided",
  decisionsText: "What was decided about findings in this group and everything below it. A decision counts as long as its advisories do not change.",
  decisionCount: (number: number): string => counted(number, "decision", "decisions"),
  noDecisionsTitle: "No decisions",
  noDecisionsText: "Decide on a finding: it does not affect you, it is accepted until a date, or it is wrong.",
  reopenings: {
    FINDING_DECISION_REOPENING_UNSPECIFIED: "",
    FINDING_DECISION_REOPENING_EXPIRED: "Expired: the findings are open again",
    FINDING_DECISION_REOPENING_ADVISORY_CHANGED: "The advisory changed: its findings are open again",
  },
  withdraw: "Withdraw",
  withdrawOf: (vulnerability: string): string => `Withdraw the decision about ${vulnerability}`,
  withdrawText: "Its findings are open again within seconds.",
  withdrawnDone: "Withdrawn",
} as const;
