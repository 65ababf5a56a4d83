// Short and long runs. `npm test` runs the short form of every test, from a fixed seed; `npm run test:long` runs the files
// that import this (or property.ts) in their long form, from a random one. test/run.ts says which by two settings, and
// nothing else reads them.

const isLong = process.env.GANTRY_TEST_LONG === "1";

/** Of every choice that a test makes by chance. test/run.ts prints it; `--seed N` gives one. */
export const seed = Number(process.env.GANTRY_TEST_SEED ?? 20_261_122);

/** What the short form of a test takes, or the long one. */
export const shortOrLong = <T>(short: T, long: T): T => (isLong ? long : short);

/** One in so many of what a long run asks all of; which ones follows from the seed. */
export const shareOf = <T>(all: readonly T[], oneIn: number): readonly T[] =>
  shortOrLong(
    all.filter((_, index) => (index + seed) % oneIn === 0),
    all,
  );

/** The same of what comes one after the other: true for one in so many; in a long run for all. */
export const inShares = (oneIn: number): (() => boolean) => {
  let count = seed;
  return () => isLong || count++ % oneIn === 0;
};

/** Numbers from 0 up to 1 that look random and follow from the seed alone (mulberry32); `salt` tells sequences apart. */
export const randomNumbers = (salt = 0): (() => number) => {
  let state = (seed ^ Math.imul(salt, 0x9e3779b9)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const chance = randomNumbers(1);

/** One of these by chance, at each call anew; in a long run all of them. */
export const oneOrAll = <T>(among: readonly T[]): readonly T[] => {
  const at = Math.floor(chance() * among.length);
  return shortOrLong(among.slice(at, at + 1), among);
};
