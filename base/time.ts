// The clock: settable in tests, truncated to milliseconds so that a row and its event say the same.

/** Milliseconds since 1970. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** RFC 3339 in UTC with three decimals (requirement: Resources and their fields). */
export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Milliseconds of a duration as the contract reads it ("3600s", "-0.5s"). */
export const durationMs = (duration: string): number => Number.parseFloat(duration) * 1000;
