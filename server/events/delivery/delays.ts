// A delivery waits no longer than its schedule says, also where the clock was ahead for a while and came back: what it put
// off then would be sent when it was as late as that again.

import { limits } from "#base/limits.ts";
import { workInPieces } from "#base/pieces.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { advanceDeliveries, findDelayedDeliveries } from "#events/store";
import { limitPiece, type Store } from "#db";

export interface DelayServices {
  readonly store: Store;
  readonly clock: Clock;
}

/** Looks through some subscriptions, where it is time for that; true where there are more to look through. */
export type DelayStep = () => Promise<boolean>;

/** Looks at its first step, whenever the clock went back, and from time to time: another server may have had the wrong one. */
export const openDelays = ({ store, clock }: DelayServices): DelayStep => {
  let seenMs = Number.NEGATIVE_INFINITY;
  let lookedMs = Number.NEGATIVE_INFINITY;
  /** Where the look is; undefined: there is none at the moment. */
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
    // Of one subscription there may be more than are found at once.
    if (uids.length > cannot.length) return true;
    after = lastSubscription;
    if (after === undefined) lookedMs = nowMs;
    return after !== undefined;
  };
};
