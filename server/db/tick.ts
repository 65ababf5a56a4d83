// The end of a tick of the event loop: when everything that arrived with it has sent what it wants from the database.

const scheduled: (() => void)[] = [];

const runScheduled = (): void => {
  // What this work schedules in its turn runs in the same pass: another one would cost a look at every socket.
  for (let index = 0; index < scheduled.length; index++) scheduled[index]?.();
  scheduled.length = 0;
};

/** Runs `work`, which must not throw, when the event loop's tick ends. */
export const atEndOfTick = (work: () => void): void => {
  if (scheduled.push(work) === 1) setImmediate(runScheduled);
};
