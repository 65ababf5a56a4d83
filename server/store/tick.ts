// The end of a turn of the event loop: when everything that came in with it has asked for what it wants.

const due: (() => void)[] = [];

const run = (): void => {
  // What this work asks for in its turn is done in the same pass: another one would cost a look at every socket.
  for (let index = 0; index < due.length; index++) due[index]?.();
  due.length = 0;
};

/** Runs `work`, which must not throw, when the event loop's turn ends. */
export const atEndOfTick = (work: () => void): void => {
  if (due.push(work) === 1) setImmediate(run);
};
