// Relative times in tables.

const units = [
  { suffix: "y", ms: 365 * 86_400_000 },
  { suffix: "d", ms: 86_400_000 },
  { suffix: "h", ms: 3_600_000 },
  { suffix: "m", ms: 60_000 },
  { suffix: "s", ms: 1_000 },
] as const;

/** Returns "5m ago", "in 30d", or "now" within a second. Rounds down, so that "in 1d" is at least a day. */
export const relativeTime = (time: string, nowMs: number): string => {
  const differenceMs = nowMs - Date.parse(time);
  const distanceMs = Math.abs(differenceMs);
  const unit = units.find(({ ms }) => distanceMs >= ms);
  // Not a time, or less than a second.
  if (unit === undefined) return Number.isNaN(differenceMs) ? time : "now";
  const text = `${Math.floor(distanceMs / unit.ms)}${unit.suffix}`;
  return differenceMs > 0 ? `${text} ago` : `in ${text}`;
};
