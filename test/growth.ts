// How the work that a text makes grows with its length: processor time at the longest length over that at an eighth of
// it. Linear is 8 and quadratic 64. Ratios, not times, so that a slow or busy machine changes nothing.

export const growthMax = 12;

// Work below this is lost in a call's own costs and in collections of garbage, which then would be all that is measured.
const noticeableMs = 20;
const tries = 5;

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
  const first = await processorMs(() => work(long));
  if (first < noticeableMs) return { longestMs: first, growth: 0 };
  const longestMs = await leastMs(() => work(long));
  if (longestMs < noticeableMs) return { longestMs, growth: 0 };
  const short = textOf(Math.floor(longest / 8));
  // A clock of the operating system may tick in milliseconds.
  return { longestMs, growth: longestMs / Math.max(1, await leastMs(() => work(short))) };
};
