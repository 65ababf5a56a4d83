// When a call that failed is tried again: only where a second time does no more than the first, after a pause that grows, differs
// from caller to caller and is no shorter than the server asks, and never beyond the caller's time.

import { clientLimits } from "#base/client-limits.ts";
import type { ApiError } from "./error.ts";

/** Milliseconds until the next try; undefined where none is worth it. `tries`: how many there were. `random`: from 0 up to 1. */
export const pauseBeforeRetry = (error: ApiError, tries: number, leftMs: number, random: number): number | undefined => {
  // A limit that passes says when; a quota does not pass.
  const passes = error.code === "UNAVAILABLE" || (error.code === "RESOURCE_EXHAUSTED" && error.retryDelayMs !== undefined);
  if (!passes || tries >= clientLimits.clientTriesMax) return undefined;
  const grown = Math.min(clientLimits.clientPauseMs * 2 ** (tries - 1), clientLimits.clientPauseMaxMs);
  // Between half of it and all of it, and behind what the server asks: those whom it turned away together come back apart.
  const pauseMs = (error.retryDelayMs ?? 0) + grown * (0.5 + random / 2);
  return pauseMs < leftMs ? pauseMs : undefined;
};

/** Resolves after so long; rejects with the signal's reason. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
