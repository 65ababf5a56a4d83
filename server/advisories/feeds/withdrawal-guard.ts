// Decides whether missing records are withdrawn or held back (docs/decisions/0073), by the source's last days. Pure.

import { limits } from "#base/limits.ts";
import type { FeedHistory, HeldBack, HeldReason } from "#advisories/store";

export interface Drop {
  /** Now in the source. */
  readonly records: number;
  readonly missing: number;
  /** Changes with the set of missing records. */
  readonly digest: string;
  readonly history: FeedHistory;
  readonly before: HeldBack;
  readonly isAllowed: boolean;
  readonly nowMs: number;
}

export type Verdict =
  /** `isLarge` resets the baseline for later runs. */
  | { readonly withdraws: true; readonly isLarge: boolean }
  | { readonly withdraws: false; readonly held: HeldBack & { readonly reason: Exclude<HeldReason, ""> } };

const isLargeDrop = ({ records, missing, history }: Drop): boolean => {
  const lost = Math.max(missing + history.withdrawn, history.largest - records);
  return lost >= limits.feedDropRecordsMin && lost > history.largest * limits.feedDropShare;
};

/** Decides whether missing records are withdrawn or held back. */
export const judgeDrop = (drop: Drop): Verdict => {
  const { records, missing, digest, before, isAllowed, nowMs } = drop;
  const isLarge = isLargeDrop(drop);
  if (missing === 0) return { withdraws: true, isLarge: false };
  if (isAllowed) return { withdraws: true, isLarge: true };
  const sinceMs = before.digest === digest ? (before.sinceMs ?? nowMs) : nowMs;
  const hold = (reason: Exclude<HeldReason, "">): Verdict => ({ withdraws: false, held: { reason, records: missing, sinceMs, digest } });
  // Without a time limit: an empty response never ends a source.
  if (records === 0) return hold("EMPTY");
  if (!isLarge) return { withdraws: true, isLarge: false };
  if (nowMs - sinceMs >= limits.feedHoldMs) return { withdraws: true, isLarge: true };
  return hold("SHRUNK");
};
