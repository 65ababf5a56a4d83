// Probes a dependency at intervals, one probe at a time. A probe that hangs, such as on a dead network file system, is not repeated,
// because each would hold a thread.

import { limits } from "#base/limits.ts";
import { onBeat } from "./beat.ts";
import type { Dependency } from "./health.ts";

export interface RunningProbe {
  /** The outcome of the first probe is reported. */
  readonly first: Promise<void>;
  stop(): void;
}

export interface ProbeTimes {
  readonly everyMs?: number;
  /** While the dependency is good, it is probed once in so many intervals. More than one is for probes that cannot hang. */
  readonly calmBeats?: number;
  readonly answerMs?: number;
}

const reasonOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? `${thrown.message}: ${reasonOf(thrown.cause)}` : thrown.message;
};

/** Reports a probe that throws, or that takes too long, as bad; `signal` then aborts. */
export const startProbe = (
  dependency: Dependency,
  probe: (signal: AbortSignal) => void | Promise<void>,
  { everyMs = limits.probeMs, calmBeats = 1, answerMs = limits.probeAnswerMs }: ProbeTimes = {},
): RunningProbe => {
  const first = Promise.withResolvers<void>();
  let isStopped = false;
  let isRunning = false;
  let isLate = false;
  let beats = 0;
  const report = (why: string | undefined): void => {
    first.resolve();
    if (isStopped) return;
    if (why === undefined) dependency.good();
    else dependency.bad(why);
  };
  const reportLate = (): void => {
    isLate = true;
    report("it does not respond");
  };
  const run = async (): Promise<void> => {
    if (isRunning) {
      if (isLate) reportLate();
      return;
    }
    isRunning = true;
    isLate = false;
    const abort = new AbortController();
    const late = setTimeout(() => {
      reportLate();
      abort.abort();
    }, answerMs).unref();
    let why: string | undefined;
    try {
      await probe(abort.signal);
    } catch (thrown) {
      why = reasonOf(thrown);
    }
    clearTimeout(late);
    isRunning = false;
    if (!isLate) report(why);
  };
  const stopBeat = onBeat(everyMs, () => {
    if (!dependency.isFailed && ++beats < calmBeats) return;
    beats = 0;
    void run();
  });
  void run();
  return {
    first: first.promise,
    stop() {
      isStopped = true;
      stopBeat();
    },
  };
};
