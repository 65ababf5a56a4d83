// One structured line per event on standard error. Secrets are never handed to it.

export type Log = (event: string, facts?: Readonly<Record<string, unknown>>) => void;

const serializableFact = (value: unknown): unknown =>
  value instanceof Error
    ? { message: value.message, stack: value.stack, ...(value.cause === undefined ? {} : { cause: serializableFact(value.cause) }) }
    : value;

/** A log that writes one JSON line per event through `write`. */
export const jsonLog =
  (write: (line: string) => void): Log =>
  (event, facts = {}) => {
    const line: Record<string, unknown> = { time: new Date().toISOString(), event };
    for (const [key, value] of Object.entries(facts)) line[key] = serializableFact(value);
    write(`${JSON.stringify(line)}\n`);
  };

/** A log that writes nothing. */
export const silent: Log = () => {};
