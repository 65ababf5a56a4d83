// What a create answers where its organization has no room for more of a resource. How many there are is exact across servers
// and looked at in the write's own transaction, by the triggers of the table (store/migrations/0003_quotas.sql, decision 0015);
// which resources are counted stands in the contract.

import { quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota, quotaNameOf } from "#store";

/** Runs the statement that makes this uid's row in a table, or rows beside it. Throws RESOURCE_EXHAUSTED where there is no room for them. */
export const namingQuota = async <T>(table: string, uid: string, statement: Promise<T>): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    const quota = exceededQuota(thrown);
    if (quota === undefined) throw thrown;
    const name = quotaNameOf(table);
    const organization = rootOf(uid);
    const message =
      `the organization ${organization} may have ${quota} ${name.replaceAll("-", " ")} (quota ${name}), and there is no room for more: ` +
      "delete some, or ask the operator of the server, who raises it with gantry admin quota";
    throw quotaExceeded(message, `organization:${organization}`, `${name}: at most ${quota} in one organization`, name);
  }
};
