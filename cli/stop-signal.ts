// Waits for a stop signal.

import { closeSync, openSync } from "node:fs";
import { limits } from "#base/limits.ts";

/** Returns whether the process has a controlling terminal. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
};

/**
 * Resolves on a stop signal. A second one exits at once, except for echoes: Ctrl-C reaches every process of the terminal, and npm
 * and bin/node.js forward it.
 *
 * @param reload called on SIGHUP. If the terminal was closed, SIGHUP stops, as without `reload`.
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
      if (reload === undefined || (hadTerminal && !hasTerminal())) stop();
      else reload();
    });
  });
