// Token buckets: each key may do so much at once, and then as much as comes back with the time. Pure, in memory, and
// bounded: of the keys beyond the bound the one that was not used for longest is forgotten, which fills its bucket.
//
// A bucket is one number, the time at which it is full again: what is missing is what comes back until then (the virtual
// scheduling of ITU-T I.371, GCRA). So a bucket that is full is the same as none.
//
// Where several processes serve together, each tells the others what it has taken. A bucket may then be emptier than empty, by what
// others took before they were told: that comes back first, so that the rate holds for all of them together.

import { alone, type Siblings } from "./siblings.ts";

export interface BucketRate {
  /** What a full bucket holds. */
  readonly burst: number;
  /** What comes back. */
  readonly perSecond: number;
}

export interface Buckets {
  /** Takes one; undefined. Where there is none left it takes nothing, and returns in how many milliseconds there will be one. */
  take(key: string, nowMs: number, rate?: BucketRate): number | undefined;
  /** The answer that `take` would give, and nothing is taken: for what counts only once it has failed. */
  look(key: string, nowMs: number, rate?: BucketRate): number | undefined;
  /** Keys in memory. */
  readonly size: number;
}

/** Buckets that processes share. */
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
 * @param rate of every key; one that is given with a key is that key's own, and may change
 * @param keysMax keys in memory
 */
export const openBuckets = (rate: BucketRate, keysMax: number, { siblings, name, nowMs: now }: SharedBuckets = unshared): Buckets => {
  const buckets = new Map<string, Bucket>();
  // A ring in the order of use: taking an entry out of a Map and putting it back in would allocate, this does not.
  const ring = new Bucket("", 0);

  const makeYoungest = (bucket: Bucket): void => {
    bucket.older = ring.older;
    bucket.younger = ring;
    ring.older.younger = bucket;
    ring.older = bucket;
  };

  /**
   * When the bucket is full. One that is emptier than it can be is of a clock that was ahead, or of another rate, and begins anew. Each
   * process may have taken all of it before it was told that others have.
   */
  const fullMsOf = (bucket: Bucket | undefined, nowMs: number, emptyMs: number): number =>
    bucket === undefined || bucket.fullMs <= nowMs || bucket.fullMs > nowMs + emptyMs * siblings.count + 1 ? nowMs : bucket.fullMs;

  /** In how many milliseconds one can be taken; 0 or less: now. */
  const waitMsOf = (bucket: Bucket | undefined, nowMs: number, { burst, perSecond }: BucketRate): number => {
    const eachMs = 1000 / perSecond;
    return fullMsOf(bucket, nowMs, burst * eachMs) + eachMs - burst * eachMs - nowMs;
  };

  // Times have 13 digits before the point: what is left of a millisecond after it is the arithmetic's.
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
