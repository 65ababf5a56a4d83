// One structured line per event on standard error. Secrets are never handed to it.

import { type LogEventName, logEventOf } from "./log-events.ts";

export type Log = (event: LogEventName, facts?: Readonly<Record<string, unknown>>) => void;

const serializableFact = (value: unknown): unknown =>
  value instanceof Error
    ? { message: value.message, stack: value.stack, ...(value.cause === undefined ? {} : { cause: serializableFact(value.cause) }) }
    : value;

/** A log that writes one JSON line per event through `write`. */
export const jsonLog =
  (write: (line: string) => void): Log =>
  (event, facts = {}) => {
    const line: Record<string, unknown> = { time: new Date().toISOString(), level: logEventOf(event).level, event };
    for (const [key, value] of Object.entries(facts)) line[key] = serializableFact(value);
    write(`${JSON.stringify(line)}\n`);
  };

/** A log that writes nothing. */
export const silent: Log = () => {};
