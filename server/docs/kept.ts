// Cache that is dropped when idle, so that a server without readers keeps nothing.

/** Creates the value once for concurrent callers; a failure is retried by the next caller. */
export const keptFor = <Value>(idleMs: number, make: () => Promise<Value>): (() => Promise<Value>) => {
  let held: Promise<Value> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const forget = (): void => {
    held = undefined;
    timer = undefined;
  };
  return () => {
    if (timer) timer.refresh();
    else timer = setTimeout(forget, idleMs).unref();
    held ??= make().catch((thrown: unknown) => {
      held = undefined;
      throw thrown;
    });
    return held;
  };
};
