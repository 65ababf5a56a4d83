// A due date policy: by when findings in a group's images must be fixed (store/due-dates.ts).

import { quotaExceeded, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { resource, type RuleContext } from "#kernel";
import { countDueDatePolicies, lockDueDatePolicies } from "#advisories/store";

const days = ["criticalDays", "highDays", "mediumDays", "lowDays", "exploitedDays"] as const;

const rules = async (draft: JsonObject, { rows, parent, isUndelete }: RuleContext): Promise<Violation[]> => {
  if (isUndelete) return [];
  if (draft.useExploitDueDate !== true && !days.some((name) => Number(draft[name] ?? 0) > 0))
    return [{ field: "criticalDays", description: `at least one of ${days.join(", ")} and useExploitDueDate is required` }];
  const organization = rootOf(parent);
  await lockDueDatePolicies(rows, organization);
  if ((await countDueDatePolicies(rows, organization)) >= limits.dueDatePoliciesEach)
    throw quotaExceeded(
      `The organization has ${limits.dueDatePoliciesEach} due date policies: delete some of them`,
      `organization:${organization}`,
      `due date policies: at most ${limits.dueDatePoliciesEach} in one organization`,
    );
  return [];
};

export const dueDatePolicy = resource({
  service: "gantry.findings.v1.DueDatePoliciesService",
  message: "gantry.findings.v1.DueDatePolicy",
  table: "due_date_policies",
  rules,
});
