// Decides whether missing records are withdrawn or kept (docs/decisions/0071), by comparison with the source's last days. Pure.

import { limits } from "#base/limits.ts";
import type { FeedHistory, HeldBack, HeldReason } from "#store";

export interface Drop {
  /** Records that the source has now. */
  readonly records: number;
  /** Records that it no longer has. */
  readonly missing: number;
  /** Changes with the set of missing records. */
  readonly digest: string;
  readonly history: FeedHistory;
  /** The state blocked by the previous run. */
  readonly before: HeldBack;
  /** The operator allows withdrawals. */
  readonly isAllowed: boolean;
  readonly nowMs: number;
}

export type Verdict =
  /** `isLarge` resets the baseline for later runs. */
  | { readonly withdraws: true; readonly isLarge: boolean }
  | { readonly withdraws: false; readonly held: HeldBack & { readonly reason: Exclude<HeldReason, ""> } };

/** Returns true if the loss is too large to be accepted silently. */
const isLargeDrop = ({ records, missing, history }: Drop): boolean => {
  const lost = Math.max(missing + history.withdrawn, history.largest - records);
  return lost >= limits.feedDropRecordsMin && lost > history.largest * limits.feedDropShare;
};

/** Decides whether missing records are withdrawn. */
export const judgeDrop = (drop: Drop): Verdict => {
  const { records, missing, digest, before, isAllowed, nowMs } = drop;
  const isLarge = isLargeDrop(drop);
  if (missing === 0) return { withdraws: true, isLarge: false };
  if (isAllowed) return { withdraws: true, isLarge: true };
  const sinceMs = before.digest === digest ? (before.sinceMs ?? nowMs) : nowMs;
  const hold = (reason: Exclude<HeldReason, "">): Verdict => ({ withdraws: false, held: { reason, records: missing, sinceMs, digest } });
  // Kept without a time limit: an empty response never ends a source.
  if (records === 0) return hold("EMPTY");
  if (!isLarge) return { withdraws: true, isLarge: false };
  if (nowMs - sinceMs >= limits.feedHoldMs) return { withdraws: true, isLarge: true };
  return hold("SHRUNK");
};
