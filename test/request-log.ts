// The lines of a world's request log, as they come.

import type { Log } from "#base/log.ts";

type Line = Readonly<Record<string, unknown>>;

export interface RequestLog {
  readonly log: Log;
  /** All so far. */
  lines(): readonly Line[];
  /** Everything that was logged, as text. */
  text(): string;
  /** The line of this request; waits for it, as it comes when the answer was taken. */
  of(requestId: string): Promise<Line>;
  /** The next line for which this holds, of those that have come too. */
  find(holds: (line: Line) => boolean): Promise<Line>;
}

export const openRequestLog = (): RequestLog => {
  const lines: Line[] = [];
  const all: string[] = [];
  const waiting = new Set<() => void>();
  const find: RequestLog["find"] = (holds) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = lines.find(holds);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    log: (event, facts = {}) => {
      all.push(JSON.stringify({ event, ...facts }));
      if (event !== "request") return;
      lines.push(facts);
      for (const look of [...waiting]) look();
    },
    lines: () => lines,
    text: () => all.join("\n"),
    of: (requestId) => find((line) => line.requestId === requestId),
    find,
  };
};
