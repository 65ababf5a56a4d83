// The order of SemVer 2, which npm, crates.io, Go, Hex, Julia, Swift, Bitnami and Pub have. Read leniently, as the readers of
// OSV's records do: parts may be missing or be more than three, "v" may stand in front, zeros too. Pure.
//
// Build metadata orders nothing, but for Pub, whose order goes on with it.

import { compareDigits, compareNumberLists, compareTexts, isDigits } from "./digits.ts";

export interface SemverVersion {
  /** As they are written: at least one. */
  readonly numbers: readonly string[];
  /** Identifiers of the pre-release; none for a release. */
  readonly pre: readonly string[];
  readonly build: readonly string[];
}

const form = /^[vV]?([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

/** Undefined for what is no version. */
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
    // SemVer, 11.4.3: numbers come before words.
    if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
    const order = isNumber ? compareDigits(left, right) : compareTexts(left, right);
    if (order !== 0) return order;
  }
};

export const compareParsedSemver = (one: SemverVersion, other: SemverVersion): number => {
  const order = compareNumberLists(one.numbers, other.numbers);
  if (order !== 0) return order;
  // SemVer, 11.3: a pre-release comes before its release.
  if (one.pre.length === 0 || other.pre.length === 0) return Number(other.pre.length > 0) - Number(one.pre.length > 0);
  return compareIdentifiers(one.pre, other.pre);
};

/** The next version in SemVer's order: nothing lies between 1.2.3 and 1.2.4-0, nor between 1.2.3-rc and 1.2.3-rc.0. */
export const nextSemver = ({ numbers: [major = "0", minor = "0", patch = "0"], pre }: SemverVersion): string =>
  pre.length === 0 ? `${major}.${minor}.${BigInt(patch) + 1n}-0` : `${major}.${minor}.${patch}-${pre.join(".")}.0`;

export const compareSemver = (one: string, other: string): number | undefined => {
  const [left, right] = [parseSemver(one), parseSemver(other)];
  return left && right && compareParsedSemver(left, right);
};

/** Pub: versions that SemVer calls equal are told apart by their build, none coming first. */
export const comparePub = (one: string, other: string): number | undefined => {
  const [left, right] = [parseSemver(one), parseSemver(other)];
  return left && right && (compareParsedSemver(left, right) || compareIdentifiers(left.build, right.build));
};

// "1.21rc1", "1.4beta2", "1.21rc1-fips": releases of Go itself, which are no SemVer.
const goRelease = /^([0-9]+(?:\.[0-9]+)*)(alpha|beta|rc)([0-9]+)$/;

/**
 * Go: "go" or "v" in front is none of the version, the toolchain's "1.21rc1" is SemVer's "1.21.0-rc.1". A pseudo-version
 * is a pre-release by its very form, "+incompatible" is build metadata.
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
