// Order of SemVer 2 (npm, crates.io, Go, Hex, Julia, Swift, Bitnami, Pub). Parsed leniently, as readers of OSV records do: any
// number of parts, a leading "v", leading zeros. Build metadata has no order except in Pub.

import { compareDigits, compareNumberLists, compareTexts, isDigits } from "./digits.ts";

export interface SemverVersion {
  /** As written; at least one. */
  readonly numbers: readonly string[];
  /** Identifiers of the pre-release; empty for a release. */
  readonly pre: readonly string[];
  readonly build: readonly string[];
}

const form = /^[vV]?([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

/** Returns undefined if the text is not a version. */
export const parseSemver = (version: string): SemverVersion | undefined => {
  const found = form.exec(version);
  if (!found) return undefined;
  const [, numbers = "", pre, build] = found;
  const parsed = { numbers: numbers.split("."), pre: pre === undefined ? [] : pre.split("."), build: build === undefined ? [] : build.split(".") };
  return parsed.pre.includes("") || parsed.build.includes("") ? undefined : parsed;
};

const compareIdentifiers = (one: readonly string[], other: readonly string[]): number => {
  for (let index = 0; ; index++) {
    const [left, right] = [one[index], other[index]];
    if (left === undefined || right === undefined) return left === right ? 0 : left === undefined ? -1 : 1;
    const [isNumber, otherIsNumber] = [isDigits(left), isDigits(right)];
    // SemVer, 11.4.3: numbers sort before words.
    if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
    const order = isNumber ? compareDigits(left, right) : compareTexts(left, right);
    if (order !== 0) return order;
  }
};

export const compareParsedSemver = (one: SemverVersion, other: SemverVersion): number => {
  const order = compareNumberLists(one.numbers, other.numbers);
  if (order !== 0) return order;
  // SemVer, 11.3: a pre-release sorts before its release.
  if (one.pre.length === 0 || other.pre.length === 0) return Number(other.pre.length > 0) - Number(one.pre.length > 0);
  return compareIdentifiers(one.pre, other.pre);
};

/** Returns the next version in SemVer's order: nothing lies between 1.2.3 and 1.2.4-0, nor between 1.2.3-rc and 1.2.3-rc.0. */
export const nextSemver = ({ numbers: [major = "0", minor = "0", patch = "0"], pre }: SemverVersion): string =>
  pre.length === 0 ? `${major}.${minor}.${BigInt(patch) + 1n}-0` : `${major}.${minor}.${patch}-${pre.join(".")}.0`;

export const compareSemver = (one: string, other: string): number | undefined => {
  const [left, right] = [parseSemver(one), parseSemver(other)];
  return left && right && compareParsedSemver(left, right);
};

/** Compares as Pub does: equal SemVer versions sort by build metadata, none first. */
export const comparePub = (one: string, other: string): number | undefined => {
  const [left, right] = [parseSemver(one), parseSemver(other)];
  return left && right && (compareParsedSemver(left, right) || compareIdentifiers(left.build, right.build));
};

// Releases of Go itself, which are not SemVer: "1.21rc1", "1.4beta2", "1.21rc1-fips".
const goRelease = /^([0-9]+(?:\.[0-9]+)*)(alpha|beta|rc)([0-9]+)$/;

/**
 * Parses a Go version. A leading "go" or "v" is ignored, and the toolchain's "1.21rc1" becomes "1.21.0-rc.1". A pseudo-version
 * already has the form of a pre-release, and "+incompatible" is build metadata.
 */
const parseGo = (version: string): SemverVersion | undefined => {
  const bare = version.replace(/^go(?=[0-9])/, "");
  const found = goRelease.exec(bare);
  if (!found) return parseSemver(bare);
  const [, numbers = "", word = "", number = ""] = found;
  return { numbers: numbers.split("."), pre: [word, number], build: [] };
};

export const compareGo = (one: string, other: string): number | undefined => {
  const [left, right] = [parseGo(one), parseGo(other)];
  return left && right && compareParsedSemver(left, right);
};
