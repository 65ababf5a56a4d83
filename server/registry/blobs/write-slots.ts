// Limits concurrent writers, each with two alternating buffers. Waiting clients hold one piece; active ones copy pieces at once,
// which die young (young-memory.ts). So a hundred uploads use no more memory than a few.

import { limits } from "#base/limits.ts";

export type BufferPair = readonly [Buffer, Buffer];

export interface WriteSlots {
  /** Waits for a turn, first come, first served. */
  take(): Promise<BufferPair>;
  give(pair: BufferPair): void;
}

export const openWriteSlots = (): WriteSlots => {
  const free: BufferPair[] = [];
  let made = 0;
  const waiting: ((pair: BufferPair) => void)[] = [];
  return {
    take() {
      const pair = free.pop();
      if (pair) return Promise.resolve(pair);
      if (made >= limits.blobWriteSlots) return new Promise((resolve) => waiting.push(resolve));
      made++;
      return Promise.resolve([Buffer.allocUnsafeSlow(limits.blobWriteBytes), Buffer.allocUnsafeSlow(limits.blobWriteBytes)]);
    },
    give(pair) {
      const next = waiting.shift();
      if (next) next(pair);
      else free.push(pair);
    },
  };
};
