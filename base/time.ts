// The clock: settable in tests, truncated to milliseconds so that a row and its event say the same.

/** Milliseconds since 1970. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** RFC 3339 in UTC with three decimals (requirement: Resources and their fields). */
export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Milliseconds of a duration as the contract reads it ("3600s", "-0.5s"). */
export const durationMs = (duration: string): number => Number.parseFloat(duration) * 1000;

const rfc3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

// google.protobuf.Timestamp: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
const earliestMs = Date.parse("0001-01-01T00:00:00Z");
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Date.parse takes the 30th of February for the 2nd of March; undefined for what is no day of the calendar. */
const startOfDay = (date: string): number | undefined => {
  const milliseconds = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(date) ? milliseconds : undefined;
};

/**
 * The time of an RFC 3339 text in milliseconds since 1970, finer parts cut off; undefined where it is none, or beyond
 * what protobuf can say. A leap second is none: no clock here has one.
 */
export const readTimestamp = (text: string): number | undefined => {
  const [, date, hour, minute, second, fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = rfc3339.exec(text) ?? [];
  const day = date === undefined ? undefined : startOfDay(date);
  if (day === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000 * (sign === "-" ? -1 : 1);
  const timeOfDayMs = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0"));
  const milliseconds = day + timeOfDayMs - offsetMs;
  return milliseconds >= earliestMs && milliseconds <= latestMs ? milliseconds : undefined;
};
