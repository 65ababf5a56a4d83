// How long what the operator decides about is kept, and the defaults.

import { limits } from "./limits.ts";

/** In milliseconds. */
export interface RetentionPeriods {
  readonly eventMs: number;
  /** Of deliveries that have ended well; dead ones are kept as long as their events. */
  readonly deliveryMs: number;
  readonly tagHistoryMs: number;
  /** Of reports that were replaced, and of what no longer affects an image. */
  readonly reportMs: number;
  /** Of documents that their source has no longer; undefined: for good. */
  readonly documentMs: number | undefined;
}

export const defaultPeriods: RetentionPeriods = Object.freeze({
  eventMs: limits.eventRetentionMs,
  deliveryMs: limits.deliveryRetentionMs,
  tagHistoryMs: limits.tagHistoryKeptMs,
  reportMs: limits.reportKeptMs,
  documentMs: undefined,
});
