// The log of a long-running server: drops events below a level and suppresses repetitions. The first event of a group is written
// at once, then every limits.logRepeatMs the last one with the suppressed count. log-events.ts defines the groups; errors with
// different causes are never grouped.

import { limits } from "./limits.ts";
import type { Log } from "./log.ts";
import { type LogEventName, type LogLevel, logEventOf, logLevels } from "./log-events.ts";

export interface SampledLog {
  readonly log: Log;
  /** Writes the suppressed counts and stops the timer. */
  close(): void;
}

interface Kind {
  readonly event: LogEventName;
  endsMs: number;
  told: number;
  leftOut: number;
  last: Readonly<Record<string, unknown>>;
}

/** Returns what distinguishes an error: its message and those of its causes. */
const textOfFact = (fact: unknown): string => {
  if (!(fact instanceof Error)) return typeof fact === "string" ? fact : (JSON.stringify(fact) ?? "");
  const code = "code" in fact ? String(fact.code) : "";
  return `${fact.name} ${code} ${fact.message}${fact.cause === undefined ? "" : ` < ${textOfFact(fact.cause)}`}`;
};

/**
 * Returns a log that suppresses repetitions.
 *
 * @param write receives the events
 * @param level the lowest level to write
 * @param nowMs a monotonic clock in milliseconds
 */
export const sampleLog = (write: Log, level: LogLevel, nowMs: () => number = () => performance.now()): SampledLog => {
  const kinds = new Map<string, Kind>();

  const tellLeftOut = ({ event, last, leftOut }: Kind): void => write(event, { ...last, leftOut });

  const sweep = (): void => {
    const now = nowMs();
    for (const [key, kind] of kinds) {
      if (kind.endsMs > now) continue;
      if (kind.leftOut > 0) {
        tellLeftOut(kind);
        kind.leftOut = 0;
        kind.endsMs = now + limits.logRepeatMs;
      } else kinds.delete(key);
    }
  };

  const timer = setInterval(sweep, limits.logRepeatMs / 6);
  timer.unref();

  return {
    log(event, facts = {}) {
      const { level: own, like, each = 1 } = logEventOf(event);
      if (logLevels.indexOf(own) < logLevels.indexOf(level)) return;
      if (like === undefined) {
        write(event, facts);
        return;
      }
      const key = JSON.stringify([event, ...like.map((name) => textOfFact(facts[name]))]);
      const known = kinds.get(key);
      if (known && known.told >= each) {
        known.leftOut++;
        known.last = facts;
        return;
      }
      write(event, facts);
      if (known) {
        known.told++;
        return;
      }
      kinds.set(key, { event, endsMs: nowMs() + limits.logRepeatMs, told: 1, leftOut: 0, last: facts });
      if (kinds.size <= limits.logKindsMax) return;
      const [oldest] = kinds;
      if (!oldest) return;
      kinds.delete(oldest[0]);
      if (oldest[1].leftOut > 0) tellLeftOut(oldest[1]);
    },
    close() {
      clearInterval(timer);
      for (const kind of kinds.values()) if (kind.leftOut > 0) tellLeftOut(kind);
      kinds.clear();
    },
  };
};
