// Events sent once more, at somebody's request.

import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { lockOrder, type Write } from "#db";
import { releaseNext, replayDeliveries, resetDelivery } from "#events/store";

/** Sends one delivery again, whatever became of it; false where there is none, or its event is kept no longer. */
export const redeliver = async (rows: Write, uid: string, now: string): Promise<boolean> => {
  await lockOrder(rows, rootOf(uid), "alone");
  const queue = await resetDelivery(rows, uid, now);
  if (!queue) return false;
  await releaseNext(rows, [queue], now);
  return true;
};

/** Sends a subscription the events since `since` again, limits.replayMax at most; returns how many. */
export const replay = async (rows: Write, subscription: string, since: string, now: string): Promise<number> => {
  await lockOrder(rows, rootOf(subscription), "alone");
  const queues = await replayDeliveries(rows, subscription, since, now, limits.replayMax);
  if (queues.length > 0) await releaseNext(rows, queues, now);
  return queues.length;
};
