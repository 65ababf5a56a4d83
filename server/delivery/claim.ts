// Which deliveries this server sends next. Each is claimed for the time of a lease: no other server takes it until then,
// and if this one dies it is due again by itself.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { type ClaimedDelivery, claimDeliveries, type ClaimQuota, findDueDeliveries, type Store, type SubscriptionLoad } from "#store";

/** Claims what is due, as far as the quota and the subscriptions' loads allow. */
export const claim = async (store: Store, nowMs: number, quota: ClaimQuota, loads: readonly SubscriptionLoad[]): Promise<ClaimedDelivery[]> => {
  const now = timestamp(nowMs);
  const due = await findDueDeliveries(store.read, now, quota, loads);
  if (due.length === 0) return [];
  return store.write((rows) => claimDeliveries(rows, due, now, timestamp(nowMs + limits.deliveryLeaseMs)));
};
