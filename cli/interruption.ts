// Signals: the first one aborts what a command waits for, a second one exits at once. Echoes of the first are ignored: Ctrl-C
// reaches every process of the terminal, and npm and bin/node.js forward it.

import { limits } from "#base/limits.ts";
import { exitStatus } from "./exit-status.ts";

const statuses = { SIGINT: exitStatus.interrupted, SIGTERM: exitStatus.terminated, SIGHUP: exitStatus.terminated } as const;

export interface Interruption {
  readonly signal: AbortSignal;
  /** Returns the exit status after an interruption, otherwise undefined. */
  readonly status: () => number | undefined;
  /** Restores the default handling of signals. */
  readonly end: () => void;
}

export const openInterruption = (): Interruption => {
  const controller = new AbortController();
  let first: { readonly status: number; readonly atMs: number } | undefined;
  const handlers = Object.entries(statuses).map(([name, status]) => {
    const handle = (): void => {
      if (first !== undefined && performance.now() - first.atMs > limits.signalEchoMs) process.exit(status);
      first ??= { status, atMs: performance.now() };
      controller.abort();
    };
    process.on(name, handle);
    return [name, handle] as const;
  });
  return {
    signal: controller.signal,
    status: () => first?.status,
    end() {
      for (const [name, handle] of handlers) process.off(name, handle);
    },
  };
};
