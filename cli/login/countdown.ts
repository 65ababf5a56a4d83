// A line with what is awaited and the remaining time. A terminal counts down; otherwise it is written once.

export interface Countdown {
  end(): void;
}

const formatMinutes = (milliseconds: number): string => {
  const seconds = Math.max(Math.ceil(milliseconds / 1000), 0);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

export const startCountdown = (err: NodeJS.WriteStream, lifetimeMs: number): Countdown => {
  const untilMs = performance.now() + lifetimeMs;
  const line = (): string => `Waiting for the browser, ${formatMinutes(untilMs - performance.now())} left (Ctrl-C to cancel)`;
  if (!err.isTTY) {
    err.write(`${line()}\n`);
    return { end: () => {} };
  }
  const draw = (): void => void err.write(`\r\u001b[2K${line()}`);
  draw();
  const timer = setInterval(draw, 1000);
  return {
    end: () => {
      clearInterval(timer);
      err.write("\r\u001b[2K");
    },
  };
};
