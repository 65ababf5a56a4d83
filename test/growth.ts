// How the work that a text makes grows with its length: processor time at the longest length over that at an eighth of
// it. Linear is 8 and quadratic 64. Ratios, not times, so that a slow or busy machine changes nothing.

export const growthMax = 12;

// Work below this is lost in a call's own costs and in collections of garbage, which then would be all that is measured.
const noticeableMs = 50;
const tries = 3;

/** Processor time of this process. */
const processorMs = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** The least of several tries: whatever else the process does only adds. */
const leastMs = async (work: () => unknown): Promise<number> => {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries; index++) least = Math.min(least, await processorMs(work));
  return least;
};

export interface Growth {
  readonly longestMs: number;
  /** 0 where the longest length makes too little work to be measured. */
  readonly growth: number;
}

/** `work` is given the text of a length; `longest` is as long as it may be. */
export const growthOf = async (work: (text: string) => unknown, textOf: (length: number) => string, longest: number): Promise<Growth> => {
  const long = textOf(longest);
  const short = textOf(Math.floor(longest / 8));
  const first = await processorMs(() => work(long));
  if (first < noticeableMs) return { longestMs: first, growth: 0 };
  let least: Growth = { longestMs: first, growth: Number.POSITIVE_INFINITY };
  // What grows too fast does so every time; what else the machine does, only once.
  for (let index = 0; index < tries && least.growth > growthMax; index++) {
    const longestMs = await leastMs(() => work(long));
    if (longestMs < noticeableMs) return { longestMs, growth: 0 };
    // Less than this is not told apart from nothing.
    const growth = longestMs / Math.max(noticeableMs / growthMax, await leastMs(() => work(short)));
    if (growth < least.growth) least = { longestMs, growth };
  }
  return least;
};
