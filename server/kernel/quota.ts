// What a create answers where its organization has no room for more of a resource. How many there are is exact across servers
// and looked at in the write's own transaction, by the triggers of the table (store/migrations/0003_quotas.sql, decision 0015);
// which resources are counted stands in the contract.

import { quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota } from "#db";

/** What there may be so many of, where deleting some makes room, and who gives more of it. */
interface Wording {
  readonly what: (name: string) => string;
  readonly advice: string;
}

const resources: Wording = { what: (name) => name.replaceAll("-", " "), advice: "delete some, or ask" };

/** What a statement has thrown that makes this uid's row, or rows beside it: RESOURCE_EXHAUSTED where there is no room for them. */
export const quotaFaultOf = (uid: string, thrown: unknown, { what, advice }: Wording = resources): unknown => {
  const exceeded = exceededQuota(thrown);
  if (!exceeded) return thrown;
  const { name, value } = exceeded;
  const organization = rootOf(uid);
  const message =
    `the organization ${organization} has reached its limit of ${value} ${what(name)} (quota ${name}): ` +
    `${advice} the operator of the server to raise it with gantry admin quota`;
  return quotaExceeded(message, `organization:${organization}`, `${name}: at most ${value} in one organization`, name);
};

/**
 * Runs such a statement, and throws that.
 * @param wording for what is not a resource whose deletion makes room
 */
export const namingQuota = async <T>(uid: string, statement: Promise<T>, wording?: Wording): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    throw quotaFaultOf(uid, thrown, wording);
  }
};
