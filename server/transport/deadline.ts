// Time limits of calls, and the gRPC client's deadline. Late work runs to completion (the store limits statements); only its response
// is dropped.

import { Fault } from "#base/fault.ts";

export const deadlineExceeded = (): Fault => new Fault("DEADLINE_EXCEEDED", "the request exceeded its deadline");

/** Awaits work with its own time limit, such as a body; the deadline pauses meanwhile. */
export type Untimed = <T>(work: Promise<T>) => Promise<T>;

/** Returns the result, or throws DEADLINE_EXCEEDED after `ms`. */
export const withDeadline = <T>(ms: number, start: (untimed: Untimed) => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    let settled = false;
    const arm = (): NodeJS.Timeout =>
      // A stopping server does not wait for this timer; it limits calls in flight itself.
      setTimeout(() => reject(deadlineExceeded()), ms).unref();
    let timer = arm();
    const untimed: Untimed = async (work) => {
      clearTimeout(timer);
      try {
        return await work;
      } finally {
        if (!settled) timer = arm();
      }
    };
    start(untimed).then(
      (value) => {
        settled = true;
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        settled = true;
        clearTimeout(timer);
        reject(error);
      },
    );
  });

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Parses grpc-timeout ("100m") into milliseconds; undefined if invalid (gRPC over HTTP/2: at most 8 digits and a unit). */
export const grpcTimeoutMs = (text: string): number | undefined => {
  const match = /^(\d{1,8})([HMSmun])$/.exec(text);
  return match ? Number(match[1]) * (unitMs[match[2] ?? ""] ?? 1) : undefined;
};
