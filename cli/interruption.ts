// A signal ends what a command waits for; a second one ends the process at once, but not the echo of the first: Ctrl-C reaches
// every process of the terminal, and npm and bin/node.js hand it on once more.

import { limits } from "#base/limits.ts";
import { exitStatus } from "./exit-status.ts";

const statuses = { SIGINT: exitStatus.interrupted, SIGTERM: exitStatus.terminated, SIGHUP: exitStatus.terminated } as const;

export interface Interruption {
  readonly signal: AbortSignal;
  /** The exit status of what has been interrupted; undefined: nobody has. */
  readonly status: () => number | undefined;
  /** Signals do again what they do by themselves. */
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
