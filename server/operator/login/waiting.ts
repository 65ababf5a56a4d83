// One line that says what is waited for and how long it still can be. On a terminal it counts down; elsewhere it is
// said once.

export interface Waiting {
  /** Takes the line away. */
  end(): void;
}

const clock = (milliseconds: number): string => {
  const seconds = Math.max(Math.ceil(milliseconds / 1000), 0);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

export const waiting = (err: NodeJS.WriteStream, lifetimeMs: number): Waiting => {
  const untilMs = performance.now() + lifetimeMs;
  const line = (): string => `Waiting for you in the browser, ${clock(untilMs - performance.now())} left (Ctrl-C stops)`;
  if (!err.isTTY) {
    err.write(`${line()}\n`);
    return { end: () => {} };
  }
  const show = (): void => void err.write(`\r\u001b[2K${line()}`);
  show();
  const timer = setInterval(show, 1000);
  return {
    end: () => {
      clearInterval(timer);
      err.write("\r\u001b[2K");
    },
  };
};
