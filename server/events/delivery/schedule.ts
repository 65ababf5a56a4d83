// When a delivery that failed is sent again. Pure.

import { limits } from "#base/limits.ts";

/** A fifth more at most, so that what failed together does not come back together. */
const jitter = 0.2;

/** Milliseconds that an answer's Retry-After asks for: seconds, or a date (RFC 9110, 10.2.3). 0 where it asks for none. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number => {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? 0 : Math.max(0, dateMs - nowMs);
};

/** Milliseconds until one that could not even be sent is tried again; there is no last time. */
export const brokenDelayMs = (delaysSeconds: readonly number[], attempts: number): number =>
  Math.max(limits.deliveryLeaseMs, (delaysSeconds[Math.min(attempts, delaysSeconds.length - 1)] ?? 0) * 1000);

/**
 * Milliseconds until the next attempt; undefined: there is none left.
 * @param attempts how many there were
 * @param requestedMs what the sink asked for; at most the longest delay is granted
 * @param random 0 to 1
 */
export const delayMs = (delaysSeconds: readonly number[], attempts: number, requestedMs: number, random: number): number | undefined => {
  const seconds = delaysSeconds[attempts];
  if (seconds === undefined) return undefined;
  const longestMs = Math.max(...delaysSeconds) * 1000;
  return Math.max(Math.round(seconds * 1000 * (1 + jitter * random)), Math.min(requestedMs, longestMs));
};
