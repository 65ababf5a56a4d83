// One timer for all work of one interval: a wake-up of an idle process costs more than the work.

interface Beat {
  readonly works: Set<() => void>;
  readonly timer: NodeJS.Timeout;
}

const beats = new Map<number, Beat>();

/** Runs `work`, which must not throw, every `everyMs`, together with all other work of this interval. Returns a function that ends it. */
export const onBeat = (everyMs: number, work: () => void): (() => void) => {
  const works = beats.get(everyMs)?.works ?? new Set();
  const runAll = (): void => {
    for (const each of works) each();
  };
  const beat = beats.get(everyMs) ?? { works, timer: setInterval(runAll, everyMs).unref() };
  beats.set(everyMs, beat);
  works.add(work);
  return () => {
    works.delete(work);
    if (works.size > 0 || beats.get(everyMs) !== beat) return;
    clearInterval(beat.timer);
    beats.delete(everyMs);
  };
};
