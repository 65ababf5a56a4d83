// Short and long runs. `npm test` runs the short form of every test from a fixed seed; `npm run test:long` runs files that import
// this or property.ts in their long form from a random seed. Only this file reads the two settings of test/run.ts.

const isLong = process.env.GANTRY_TEST_LONG === "1";

/** The seed of all random choices. test/run.ts prints it; `--seed N` sets it. */
export const seed = Number(process.env.GANTRY_TEST_SEED ?? 20_261_122);

/** Returns the value for this kind of run. */
export const shortOrLong = <T>(short: T, long: T): T => (isLong ? long : short);

/** Returns one in `oneIn`, chosen by the seed; all in a long run. */
export const shareOf = <T>(all: readonly T[], oneIn: number): readonly T[] =>
  shortOrLong(
    all.filter((_, index) => (index + seed) % oneIn === 0),
    all,
  );

/** The same for a sequence: returns true for one in `oneIn`; always in a long run. */
export const inShares = (oneIn: number): (() => boolean) => {
  let count = seed;
  return () => isLong || count++ % oneIn === 0;
};

/** Returns pseudorandom numbers in [0, 1) from the seed (mulberry32); `salt` distinguishes sequences. */
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

/** Returns a random one, different on each call; all in a long run. */
export const oneOrAll = <T>(among: readonly T[]): readonly T[] => {
  const at = Math.floor(chance() * among.length);
  return shortOrLong(among.slice(at, at + 1), among);
};
