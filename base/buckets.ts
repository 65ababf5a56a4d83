// Token buckets by key, in memory. Their number is bounded: beyond it the least recently used key is evicted, which refills its
// bucket.
//
// A bucket is one number, the time at which it is full again (virtual scheduling, ITU-T I.371, GCRA). A full bucket needs no
// entry.
//
// If several processes serve together, each announces what it took. What they took before an announcement arrives is paid back
// first, so that the rate holds for all of them together.

import { alone, type Siblings } from "./siblings.ts";

export interface BucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

export interface Buckets {
  /** Takes one and returns undefined. If the bucket is empty, takes nothing and returns the milliseconds until one is available. */
  take(key: string, nowMs: number, rate?: BucketRate): number | undefined;
  /** Returns what `take` would return, without taking. For operations that count only if they fail. */
  look(key: string, nowMs: number, rate?: BucketRate): number | undefined;
  /** Keys in memory. */
  readonly size: number;
}

/** Connects the buckets of several processes. */
export interface SharedBuckets {
  readonly siblings: Siblings;
  /** The same in each process. */
  readonly name: string;
  readonly nowMs: () => number;
}

const unshared: SharedBuckets = { siblings: alone, name: "", nowMs: () => 0 };

class Bucket {
  readonly key: string;
  fullMs: number;
  older: Bucket = this;
  younger: Bucket = this;

  constructor(key: string, fullMs: number) {
    this.key = key;
    this.fullMs = fullMs;
  }
}

const unlink = (bucket: Bucket): void => {
  bucket.older.younger = bucket.younger;
  bucket.younger.older = bucket.older;
};

/**
 * Opens buckets.
 *
 * @param rate of every key, unless `take` passes another one
 * @param keysMax keys in memory
 */
export const openBuckets = (rate: BucketRate, keysMax: number, { siblings, name, nowMs: now }: SharedBuckets = unshared): Buckets => {
  const buckets = new Map<string, Bucket>();
  // A ring in the order of use. Deleting a Map entry and setting it again would allocate.
  const ring = new Bucket("", 0);

  const makeYoungest = (bucket: Bucket): void => {
    bucket.older = ring.older;
    bucket.younger = ring;
    ring.older.younger = bucket;
    ring.older = bucket;
  };

  /**
   * Returns when the bucket is full. A value later than possible comes from a clock that ran ahead or from another rate, and is
   * ignored.
   * Each process may empty the bucket once before it hears of the others.
   */
  const fullMsOf = (bucket: Bucket | undefined, nowMs: number, emptyMs: number): number =>
    bucket === undefined || bucket.fullMs <= nowMs || bucket.fullMs > nowMs + emptyMs * siblings.count + 1 ? nowMs : bucket.fullMs;

  const waitMsOf = (bucket: Bucket | undefined, nowMs: number, { burst, perSecond }: BucketRate): number => {
    const eachMs = 1000 / perSecond;
    return fullMsOf(bucket, nowMs, burst * eachMs) + eachMs - burst * eachMs - nowMs;
  };

  // Times have 13 digits before the decimal point; fractions below 0.01 ms are rounding errors.
  const wait = (waitMs: number): number | undefined => (waitMs < 0.01 ? undefined : Math.ceil(waitMs));

  const put = (key: string, known: Bucket | undefined, fullMs: number): void => {
    if (known !== undefined) {
      known.fullMs = fullMs;
      unlink(known);
      makeYoungest(known);
      return;
    }
    if (buckets.size >= keysMax) {
      const oldest = ring.younger;
      unlink(oldest);
      buckets.delete(oldest.key);
    }
    const made = new Bucket(key, fullMs);
    buckets.set(key, made);
    makeYoungest(made);
  };

  const tell = siblings.sum(name, (key, ms) => {
    const known = buckets.get(key);
    put(key, known, Math.max(known?.fullMs ?? 0, now()) + ms);
  });

  return {
    look: (key, nowMs, own = rate) => wait(waitMsOf(buckets.get(key), nowMs, own)),
    take(key, nowMs, own = rate) {
      const eachMs = 1000 / own.perSecond;
      const known = buckets.get(key);
      const refusal = wait(waitMsOf(known, nowMs, own));
      put(key, known, fullMsOf(known, nowMs, own.burst * eachMs) + (refusal === undefined ? eachMs : 0));
      if (refusal === undefined) tell(key, eachMs);
      return refusal;
    },
    get size() {
      return buckets.size;
    },
  };
};
