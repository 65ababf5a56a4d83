// Corrects deliveries that were scheduled while the clock ran ahead: none waits longer than its schedule.

import { limits } from "#base/limits.ts";
import { workInPieces } from "#base/pieces.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { advanceDeliveries, findDelayedDeliveries } from "#events/store";
import { limitPiece, type Store } from "#db";

export interface DelayServices {
  readonly store: Store;
  readonly clock: Clock;
}

/** Checks some subscriptions if due; returns true if there are more. */
export type DelayStep = () => Promise<boolean>;

/** Checks on the first step, after the clock went back, and periodically, because another server's clock may have been wrong. */
export const openDelays = ({ store, clock }: DelayServices): DelayStep => {
  let seenMs = Number.NEGATIVE_INFINITY;
  let lookedMs = Number.NEGATIVE_INFINITY;
  /** Undefined if no check is running. */
  let after: string | undefined;

  return async () => {
    const nowMs = clock();
    const isBack = nowMs < seenMs - limits.clockToleranceMs;
    seenMs = nowMs;
    if (isBack || (after === undefined && nowMs >= lookedMs + limits.delayLookMs)) after = "";
    if (after === undefined) return false;
    const latest = timestamp(nowMs + limits.clockToleranceMs);
    const { uids, lastSubscription } = await findDelayedDeliveries(store.read, latest, after, limits.delayLookMax);
    const cannot: string[] = [];
    await workInPieces(
      uids,
      (piece) =>
        store.write(async (rows) => {
          if (piece.length > 1) await limitPiece(rows);
          await advanceDeliveries(rows, piece, timestamp(nowMs), latest);
        }),
      (uid) => void cannot.push(uid),
    );
    // A subscription may have more than one page.
    if (uids.length > cannot.length) return true;
    after = lastSubscription;
    if (after === undefined) lookedMs = nowMs;
    return after !== undefined;
  };
};
