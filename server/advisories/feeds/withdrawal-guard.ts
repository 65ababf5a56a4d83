// What a run may withdraw (docs/decisions/0071). Pure: compares the records that are missing with what the source had in the
// last days, and decides whether they are withdrawn or held back.

import { limits } from "#base/limits.ts";
import type { FeedHistory, HeldBack, HeldReason } from "#advisories/store";

export interface Drop {
  /** Records that the source has now. */
  readonly records: number;
  /** Records that it had before and does not have now. */
  readonly missing: number;
  /** Changes with the records that are missing. */
  readonly digest: string;
  readonly history: FeedHistory;
  /** What the run before held back. */
  readonly before: HeldBack;
  /** The operator allows it. */
  readonly isAllowed: boolean;
  readonly nowMs: number;
}

export type Verdict =
  /** `isLarge`: later runs compare with what is left. */
  | { readonly withdraws: true; readonly isLarge: boolean }
  | { readonly withdraws: false; readonly held: HeldBack & { readonly reason: Exclude<HeldReason, ""> } };

/** Whether so many records are more than a source may lose unnoticed. */
const isLargeDrop = ({ records, missing, history }: Drop): boolean => {
  const lost = Math.max(missing + history.withdrawn, history.largest - records);
  return lost >= limits.feedDropRecordsMin && lost > history.largest * limits.feedDropShare;
};

/** Decides whether what is missing is withdrawn. */
export const judgeDrop = (drop: Drop): Verdict => {
  const { records, missing, digest, before, isAllowed, nowMs } = drop;
  const isLarge = isLargeDrop(drop);
  if (missing === 0) return { withdraws: true, isLarge: false };
  if (isAllowed) return { withdraws: true, isLarge: true };
  const sinceMs = before.digest === digest ? (before.sinceMs ?? nowMs) : nowMs;
  const hold = (reason: Exclude<HeldReason, "">): Verdict => ({ withdraws: false, held: { reason, records: missing, sinceMs, digest } });
  // However long it lasts: no source ends by saying nothing.
  if (records === 0) return hold("EMPTY");
  if (!isLarge) return { withdraws: true, isLarge: false };
  if (nowMs - sinceMs >= limits.feedHoldMs) return { withdraws: true, isLarge: true };
  return hold("SHRUNK");
};
