// What else a layer has at which paths, as hashes: enough to tell whether it replaces or removes a file of a lower layer, in eight
// bytes for each entry.

import { hash } from "node:crypto";

/** "present": anything but a directory. */
export type PathFact = "present" | "directory" | "removed" | "opaque";

export interface PathSet {
  has(fact: PathFact, path: string): boolean;
}

export interface PathSetBuilder {
  add(fact: PathFact, path: string): void;
  /** Sorted. */
  build(): Float64Array;
}

/** 52 bits, exact in a number. */
const keyOf = (fact: PathFact, path: string): number => {
  const digest = hash("sha256", `${fact}\0${path}`, "buffer");
  return digest.readUIntBE(0, 6) * 16 + ((digest[6] ?? 0) & 15);
};

export const buildPathSet = (): PathSetBuilder => {
  let keys = new Float64Array(1024);
  let count = 0;
  return {
    add(fact, path) {
      if (count === keys.length) {
        const grown = new Float64Array(count * 2);
        grown.set(keys);
        keys = grown;
      }
      keys[count++] = keyOf(fact, path);
    },
    build: () => keys.slice(0, count).sort(),
  };
};

export const openPathSet = (keys: Float64Array): PathSet => ({
  has(fact, path) {
    const key = keyOf(fact, path);
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((keys[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    return keys[low] === key;
  },
});
