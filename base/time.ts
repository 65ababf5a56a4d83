// The clock and timestamps. Tests can set the clock; it has milliseconds, so that a row and its event agree.

/** Milliseconds since 1970. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Formats as RFC 3339 in UTC with three decimals (requirement: Resources and their fields). */
export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Returns the milliseconds of a duration of the contract ("3600s", "-0.5s"). */
export const durationMs = (duration: string): number => Number.parseFloat(duration) * 1000;

const timestampForm = /^(\d{4}-\d{2}-(\d{2}))[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
// The range of RFC 3339 and google.protobuf.Timestamp.
const firstTimestampMs = Date.parse("0001-01-01T00:00:00Z");
const lastTimestampMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Parses an RFC 3339 time to milliseconds since 1970, truncated; returns undefined if it is invalid. */
export const readTimestamp = (text: string): number | undefined => {
  const [, date, day, clock, offset = ""] = timestampForm.exec(text) ?? [];
  if (date === undefined) return undefined;
  // Date.parse turns February 30 into a day in March. Every month has 28 days.
  if (Number(day) > 28 && new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const milliseconds = Date.parse(`${date}T${clock}${offset.toUpperCase()}`);
  return milliseconds >= firstTimestampMs && milliseconds <= lastTimestampMs ? milliseconds : undefined;
};
