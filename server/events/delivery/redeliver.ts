// Redelivers events on request.

import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { lockOrder, type Write } from "#db";
import { releaseNext, replayDeliveries, resetDelivery } from "#events/store";

/** Resends one delivery, whatever its state; returns false if it or its event no longer exists. */
export const redeliver = async (rows: Write, uid: string, now: string): Promise<boolean> => {
  await lockOrder(rows, rootOf(uid), "alone");
  const queue = await resetDelivery(rows, uid, now);
  if (!queue) return false;
  await releaseNext(rows, [queue], now);
  return true;
};

/** Resends a subscription's events since `since`, at most limits.replayMax; returns their number. */
export const replay = async (rows: Write, subscription: string, since: string, now: string): Promise<number> => {
  await lockOrder(rows, rootOf(subscription), "alone");
  const queues = await replayDeliveries(rows, subscription, since, now, limits.replayMax);
  if (queues.length > 0) await releaseNext(rows, queues, now);
  return queues.length;
};
