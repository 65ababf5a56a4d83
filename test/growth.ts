// Measures how CPU time grows with text length, as the ratio between the maximum length and an eighth of it: 8 if linear, 64 if
// quadratic. Ratios do not depend on the machine.

export const growthMax = 12;

// Less work is dominated by call overhead and garbage collection.
const noticeableMs = 50;
const tries = 3;

const processorMs = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** Returns the minimum of several tries, because other work only adds time. */
const leastMs = async (work: () => unknown): Promise<number> => {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries; index++) least = Math.min(least, await processorMs(work));
  return least;
};

export interface Growth {
  readonly longestMs: number;
  /** 0 if the maximum length causes too little work to measure. */
  readonly growth: number;
}

export const growthOf = async (work: (text: string) => unknown, textOf: (length: number) => string, longest: number): Promise<Growth> => {
  const long = textOf(longest);
  const short = textOf(Math.floor(longest / 8));
  const first = await processorMs(() => work(long));
  if (first < noticeableMs) return { longestMs: first, growth: 0 };
  let least: Growth = { longestMs: first, growth: Number.POSITIVE_INFINITY };
  // Repeats outliers: real growth recurs, other load does not.
  for (let index = 0; index < tries && least.growth > growthMax; index++) {
    const longestMs = await leastMs(() => work(long));
    if (longestMs < noticeableMs) return { longestMs, growth: 0 };
    // Shorter times cannot be measured.
    const growth = longestMs / Math.max(noticeableMs / growthMax, await leastMs(() => work(short)));
    if (growth < least.growth) least = { longestMs, growth };
  }
  return least;
};
