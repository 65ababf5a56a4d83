// How long a call may take, and what gRPC clients say about it. Work that is too late goes on
// to its own end (the store's statement limit); only its answer is dropped.

import { Fault } from "#base/fault.ts";

export const deadlineExceeded = (): Fault => new Fault("DEADLINE_EXCEEDED", "the request exceeded its deadline");

/** Awaits what has a time limit of its own, such as a body: meanwhile the deadline's clock stands still. */
export type Untimed = <T>(work: Promise<T>) => Promise<T>;

/** The work's result, or DEADLINE_EXCEEDED after `ms`. */
export const withDeadline = <T>(ms: number, start: (untimed: Untimed) => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    let settled = false;
    const arm = (): NodeJS.Timeout =>
      // A stopping server does not wait for it; what is in flight has its own limit then.
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

/** grpc-timeout ("100m") in milliseconds; undefined where it is not one (gRPC over HTTP/2: at most 8 digits, a unit). */
export const grpcTimeoutMs = (text: string): number | undefined => {
  const match = /^(\d{1,8})([HMSmun])$/.exec(text);
  return match ? Number(match[1]) * (unitMs[match[2] ?? ""] ?? 1) : undefined;
};
