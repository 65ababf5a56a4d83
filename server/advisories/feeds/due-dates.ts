// Updates the due dates of findings after changes of due date policies, a bounded number in each transaction (docs/decisions/0091).

import { limits } from "#base/limits.ts";
import { openServedList } from "#base/served-list.ts";
import type { Services } from "#kernel";
import { findDueDateRoots, lockMatching, updateDueDates } from "#advisories/store";

/**
 * Returns a function that updates due dates for a limited time; the next turn continues. Organizations take turns, so that one with many
 * findings, or with policies that change all the time, delays no other one. A failed organization is retried in the next turn.
 */
export const openDueDates = ({ store, log, clock }: Services): ((goesOn: () => boolean) => Promise<void>) => {
  const served = openServedList(limits.sbomServedMax);
  return async (goesOn) => {
    const endMs = performance.now() + limits.dueDatesTurnMs;
    const failed = new Set<string>();
    while (goesOn() && performance.now() < endMs) {
      const order = served.list();
      const waiting = (await findDueDateRoots(store.read)).filter((root) => !failed.has(root));
      const [root] = waiting.sort((one, other) => order.indexOf(one) - order.indexOf(other));
      if (root === undefined) return;
      served.note(root);
      await store
        .write(async (rows) => {
          await lockMatching(rows, root);
          await updateDueDates(rows, root, limits.dueDateFindings, clock());
        })
        .catch((cause: unknown) => {
          failed.add(root);
          log("findings.due_dates.failed", { organization: root, cause });
        });
    }
  };
};
