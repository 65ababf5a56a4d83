// Collects the lines of a test server's request log.

import type { Log } from "#base/log.ts";

type Line = Readonly<Record<string, unknown>>;

export interface RequestLog {
  readonly log: Log;
  lines(): readonly Line[];
  /** Returns everything logged, as text. */
  text(): string;
  /** Waits for the line of this request, written after its response. */
  of(requestId: string): Promise<Line>;
  /** Returns the next matching line, including earlier ones. */
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
