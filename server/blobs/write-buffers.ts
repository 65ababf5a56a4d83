// What is gathered before it is written. Pieces from a socket are copied together and let go at once, while they are young
// (young-memory.ts); the buffers that they are copied to stay, and serve one append after the other.

import { limits } from "#base/limits.ts";

/** Two buffers: one is written while the other one is filled. */
export type BufferPair = readonly [Buffer, Buffer];

export interface WriteBuffers {
  /** Large ones for the first few, small ones where many append at once. */
  take(): BufferPair;
  give(pair: BufferPair): void;
}

const openPairs = (bytes: number, keptMax: number): WriteBuffers => {
  const free: BufferPair[] = [];
  return {
    take: () => free.pop() ?? [Buffer.allocUnsafeSlow(bytes), Buffer.allocUnsafeSlow(bytes)],
    give(pair) {
      if (free.length < keptMax) free.push(pair);
    },
  };
};

export const openWriteBuffers = (): WriteBuffers => {
  const large = openPairs(limits.blobLargeBufferBytes, limits.blobLargeBuffersMax);
  const small = openPairs(limits.blobSmallBufferBytes, limits.blobSmallBuffersMax);
  let largeTaken = 0;
  return {
    take() {
      if (largeTaken >= limits.blobLargeBuffersMax) return small.take();
      largeTaken++;
      return large.take();
    },
    give(pair) {
      if (pair[0].byteLength !== limits.blobLargeBufferBytes) {
        small.give(pair);
        return;
      }
      largeTaken--;
      large.give(pair);
    },
  };
};
