// The error of an exceeded quota. Triggers count exactly, in the write's own transaction (decision
// 0015); the contract says which resources are counted.

import { quotaExceeded } from "#base/fault.ts";
import { rootOf } from "#base/uid.ts";
import { exceededQuota } from "#db";

interface Wording {
  readonly what: (name: string) => string;
  readonly advice: string;
}

const resources: Wording = { what: (name) => name.replaceAll("-", " "), advice: "delete some, or ask" };

/** Maps an exceeded quota to RESOURCE_EXHAUSTED; returns other errors as they are. */
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
 * Runs such a statement; throws RESOURCE_EXHAUSTED if a quota is exceeded.
 * @param wording for things that cannot be deleted to free quota
 */
export const namingQuota = async <T>(uid: string, statement: Promise<T>, wording?: Wording): Promise<T> => {
  try {
    return await statement;
  } catch (thrown) {
    throw quotaFaultOf(uid, thrown, wording);
  }
};
