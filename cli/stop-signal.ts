// Waiting until somebody stops the command.

import { closeSync, openSync } from "node:fs";
import { limits } from "#base/limits.ts";

/** Whether this process has a terminal of its own, from which it was started and with which it ends. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
};

/**
 * Resolves when the process is told to stop. A second signal ends it at once, but not the echo of the first: Ctrl-C
 * reaches every process of the terminal, and npm and bin/node.js hand it on once more.
 * @param reload what SIGHUP asks for. The same signal comes where the terminal is closed: then it stops, as without `reload`.
 */
export const stopSignal = (reload?: () => void): Promise<void> =>
  new Promise((resolve) => {
    let firstMs: number | undefined;
    const stop = (): void => {
      if (firstMs !== undefined && performance.now() - firstMs > limits.signalEchoMs) process.exit(1);
      firstMs ??= performance.now();
      resolve();
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    const hadTerminal = reload !== undefined && hasTerminal();
    process.on("SIGHUP", () => {
      const isTerminalGone = hadTerminal && !hasTerminal();
      // What is still said to it is lost, and no reason to end in disorder.
      if (isTerminalGone) for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
      if (reload === undefined || isTerminalGone) stop();
      else reload();
    });
  });
