// Durations on the command line: "90m", "12h", "30d".

import { Fault } from "#base/fault.ts";

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns milliseconds. Throws a Fault that names the option if the duration is invalid or exceeds `longestMs`. */
export const readDuration = (option: string, value: string, longestMs: number): number => {
  const [, count = "", unit = ""] = /^(\d{1,9})([smhd])$/.exec(value) ?? [];
  const milliseconds = Number(count) * (unitMs[unit] ?? 0);
  if (!(milliseconds > 0)) throw new Fault("INVALID_ARGUMENT", `${option} must be a duration such as 90m, 12h or 30d, not ${JSON.stringify(value)}`);
  if (milliseconds > longestMs) throw new Fault("INVALID_ARGUMENT", `${option} must be at most ${longestMs / 86_400_000}d, not ${value}`);
  return milliseconds;
};
