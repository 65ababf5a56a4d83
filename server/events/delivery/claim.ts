// Claims the next deliveries with a lease: no other server takes them meanwhile, and after a crash they become due again.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { openPauses, setAsideMs, workInPieces } from "#base/pieces.ts";
import { timestamp } from "#base/time.ts";
import { type ClaimedDelivery, claimDeliveries, type ClaimQuota, findDueDeliveries, postponeDelivery, type SubscriptionLoad } from "#events/store";
import { limitPiece, type Store } from "#db";

interface Claimed {
  readonly deliveries: readonly ClaimedDelivery[];
  /** False if nothing becomes due by time alone. */
  readonly isAnyPending: boolean;
}

/** Claims due deliveries within the quota and the subscriptions' loads. */
export type Claim = (nowMs: number, quota: ClaimQuota, loads: readonly SubscriptionLoad[]) => Promise<Claimed>;

export const openClaims = (store: Store, log: Log): Claim => {
  const pauses = openPauses();

  const setAside = async (uid: string, cause: unknown, nowMs: number): Promise<void> => {
    const failures = pauses.fail(uid, nowMs);
    log("delivery.set_aside", { delivery: uid, failures, cause });
    // Frees its slot. If even this fails, the local backoff skips it.
    await store.write((rows) => postponeDelivery(rows, uid, timestamp(nowMs + setAsideMs(failures)))).catch(() => {});
  };

  return async (nowMs, quota, loads) => {
    const now = timestamp(nowMs);
    const { uids: due, isAnyPending } = await store.readTogether((rows) => findDueDeliveries(rows, now, quota, loads));
    const claimed: ClaimedDelivery[] = [];
    await workInPieces(
      due.filter((uid) => !pauses.isPaused(uid, nowMs)),
      async (piece) => {
        const found = await store.write(async (rows) => {
          if (piece.length > 1) await limitPiece(rows);
          return claimDeliveries(rows, piece, now, timestamp(nowMs + limits.deliveryLeaseMs));
        });
        claimed.push(...found);
      },
      (uid, cause) => setAside(uid, cause, nowMs),
    );
    return { deliveries: claimed, isAnyPending };
  };
};
