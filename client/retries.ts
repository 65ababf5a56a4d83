// Decides on retries: only if repeating is safe, after a growing random pause that respects the server's delay, and within the
// caller's timeout.

import { clientLimits } from "#base/client-limits.ts";
import type { ApiError } from "./error.ts";

/** Returns the pause in milliseconds, or undefined for no retry. `tries` counts the attempts; `random` is in [0, 1). */
export const pauseBeforeRetry = (error: ApiError, tries: number, leftMs: number, random: number): number | undefined => {
  // A temporary limit has a retry delay; a quota has none.
  const passes = error.code === "UNAVAILABLE" || (error.code === "RESOURCE_EXHAUSTED" && error.retryDelayMs !== undefined);
  if (!passes || tries >= clientLimits.clientTriesMax) return undefined;
  const grown = Math.min(clientLimits.clientPauseMs * 2 ** (tries - 1), clientLimits.clientPauseMaxMs);
  // 50 to 100 % of the pause, after the server's delay, so that clients refused together do not return together.
  const pauseMs = (error.retryDelayMs ?? 0) + grown * (0.5 + random / 2);
  return pauseMs < leftMs ? pauseMs : undefined;
};

/** Resolves after this time; rejects with the signal's reason. */
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
