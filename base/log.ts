// Writes one structured line per event to standard error. Callers never pass secrets.

import { type LogEventName, logEventOf } from "./log-events.ts";

export type Log = (event: LogEventName, facts?: Readonly<Record<string, unknown>>) => void;

const serializableFact = (value: unknown, withStack: boolean): unknown =>
  value instanceof Error
    ? {
        message: value.message,
        ...(withStack ? { stack: value.stack } : {}),
        ...(value.cause === undefined ? {} : { cause: serializableFact(value.cause, withStack) }),
      }
    : value;

/** Returns a log that writes one JSON line per event through `write`. Only events of level error have stack traces. */
export const jsonLog =
  (write: (line: string) => void): Log =>
  (event, facts = {}) => {
    const { level } = logEventOf(event);
    const line: Record<string, unknown> = { time: new Date().toISOString(), level, event };
    for (const [key, value] of Object.entries(facts)) line[key] = serializableFact(value, level === "error");
    write(`${JSON.stringify(line)}\n`);
  };

/** Discards all events. */
export const silent: Log = () => {};
