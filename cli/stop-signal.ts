// Waiting until somebody stops the command.

import { limits } from "#base/limits.ts";

/**
 * Resolves when the process is told to stop. A second signal ends it at once, but not the echo of the first: Ctrl-C
 * reaches every process of the terminal, and npm and bin/node.js hand it on once more.
 */
export const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    let firstMs: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (firstMs !== undefined && performance.now() - firstMs > limits.signalEchoMs) process.exit(1);
        firstMs ??= performance.now();
        resolve();
      });
    }
  });
