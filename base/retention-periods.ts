// Retention periods that the operator can set, and their defaults.

import { limits } from "./limits.ts";

/** In milliseconds. */
export interface RetentionPeriods {
  readonly eventMs: number;
  /** Successful deliveries; dead ones are kept as long as their events. */
  readonly deliveryMs: number;
  readonly tagHistoryMs: number;
  /** Superseded reports, and matches that no longer affect an image. */
  readonly reportMs: number;
  /** Documents that their source no longer publishes; undefined keeps them forever. */
  readonly documentMs: number | undefined;
}

export const defaultPeriods: RetentionPeriods = Object.freeze({
  eventMs: limits.eventRetentionMs,
  deliveryMs: limits.deliveryRetentionMs,
  tagHistoryMs: limits.tagHistoryKeptMs,
  reportMs: limits.reportKeptMs,
  documentMs: undefined,
});
