// What is made of files and documents when somebody asks for it, and is forgotten when nobody has for a while: readers come
// in the minutes of their reading, and a server without any keeps nothing for them.

/** Makes it once for all who ask meanwhile; what could not be made is tried again by the next. */
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
