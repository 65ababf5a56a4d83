// Order of NuGet versions: SemVer with a fourth number and case-insensitive pre-releases.

import { compareSemver, parseSemver } from "./semver.ts";

const numbersMax = 4;

const isNuget = (version: string): boolean => {
  const parsed = parseSemver(version);
  return parsed !== undefined && parsed.numbers.length <= numbersMax;
};

export const compareNuget = (one: string, other: string): number | undefined =>
  isNuget(one) && isNuget(other) ? compareSemver(one.toLowerCase(), other.toLowerCase()) : undefined;
