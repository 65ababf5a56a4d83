// A time as a table shows it: how long ago, or in how long.

const units = [
  { suffix: "y", ms: 365 * 86_400_000 },
  { suffix: "d", ms: 86_400_000 },
  { suffix: "h", ms: 3_600_000 },
  { suffix: "m", ms: 60_000 },
  { suffix: "s", ms: 1_000 },
] as const;

/** "5m ago", "in 30d"; "now" within a second. Rounded down, so that "in 1d" is never less than a day away. */
export const relativeTime = (time: string, nowMs: number): string => {
  const differenceMs = nowMs - Date.parse(time);
  const distanceMs = Math.abs(differenceMs);
  const unit = units.find(({ ms }) => distanceMs >= ms);
  // Not a time, or as good as now.
  if (unit === undefined) return Number.isNaN(differenceMs) ? time : "now";
  const text = `${Math.floor(distanceMs / unit.ms)}${unit.suffix}`;
  return differenceMs > 0 ? `${text} ago` : `in ${text}`;
};
