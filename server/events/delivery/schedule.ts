// Retry schedule of failed deliveries. Pure.

import { limits } from "#base/limits.ts";

/** Up to a fifth more, to spread simultaneous failures. */
const jitter = 0.2;

/** Parses Retry-After, seconds or a date (RFC 9110 §10.2.3), to milliseconds; 0 if absent. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number => {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? 0 : Math.max(0, dateMs - nowMs);
};

/** Returns the delay in milliseconds after an internal error, without a maximum of attempts. */
export const brokenDelayMs = (delaysSeconds: readonly number[], attempts: number): number =>
  Math.max(limits.deliveryLeaseMs, (delaysSeconds[Math.min(attempts, delaysSeconds.length - 1)] ?? 0) * 1000);

/**
 * Returns the delay in milliseconds until the next attempt; undefined after the last. @param attempts number so far @param requestedMs
 * requested by the receiver, capped at the longest delay @param random 0 to 1
 */
export const delayMs = (delaysSeconds: readonly number[], attempts: number, requestedMs: number, random: number): number | undefined => {
  const seconds = delaysSeconds[attempts];
  if (seconds === undefined) return undefined;
  const longestMs = Math.max(...delaysSeconds) * 1000;
  return Math.max(Math.round(seconds * 1000 * (1 + jitter * random)), Math.min(requestedMs, longestMs));
};
