// The log of a server, which runs for long: nothing below a level, and what repeats told once. The first of a kind is told
// at once, so that nobody waits to hear of it; then each limits.logRepeatMs how many more there were, with the last of them.
// What makes a kind stands with the event (log-events.ts). Causes that differ are never one kind.

import { limits } from "./limits.ts";
import type { Log } from "./log.ts";
import { type LogEventName, type LogLevel, logEventOf, logLevels } from "./log-events.ts";

export interface SampledLog {
  readonly log: Log;
  /** Tells what was left out since, and ends the timer. */
  close(): void;
}

interface Kind {
  readonly event: LogEventName;
  endsMs: number;
  told: number;
  leftOut: number;
  last: Readonly<Record<string, unknown>>;
}

/** What tells an error from another: its message, and those of what caused it. */
const textOfFact = (fact: unknown): string => {
  if (!(fact instanceof Error)) return typeof fact === "string" ? fact : (JSON.stringify(fact) ?? "");
  const code = "code" in fact ? String(fact.code) : "";
  return `${fact.name} ${code} ${fact.message}${fact.cause === undefined ? "" : ` < ${textOfFact(fact.cause)}`}`;
};

/**
 * @param write takes what is told
 * @param level the least that is told
 * @param nowMs a clock that only goes forward, in milliseconds
 */
export const sampleLog = (write: Log, level: LogLevel, nowMs: () => number = () => performance.now()): SampledLog => {
  /** In the order of their beginnings. */
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
