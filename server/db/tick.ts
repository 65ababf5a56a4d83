// The end of an event loop tick, when every request that arrived in it has issued its statements.

const scheduled: (() => void)[] = [];

const runScheduled = (): void => {
  // Another pass would poll every socket.
  for (let index = 0; index < scheduled.length; index++) scheduled[index]?.();
  scheduled.length = 0;
};

/** Runs `work`, which must not throw, at the end of the tick. */
export const atEndOfTick = (work: () => void): void => {
  if (scheduled.push(work) === 1) setImmediate(runScheduled);
};
