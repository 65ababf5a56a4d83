// Converts Cargo requirements (">= 1.2.3, < 2", "^1.2", "~0.3", "1.*") to SemVer ranges, for RustSec's lists of patched and
// unaffected versions.
//
// A requirement is an interval of SemVer's order including pre-releases, as in RustSec's own tools. Cargo itself matches a
// pre-release only if the requirement names one; then ">= 1.5" would not patch 2.0.0-rc.1. A series such as "^1.2" ends before
// the pre-releases of the next one. After other operators, missing numbers are 0: "> 0" is "> 0.0.0", where Cargo starts at
// 1.0.0.
//
// Bounds become half-open ranges, which is exact: no version lies between "1.2.3" and "1.2.4-0", nor between "1.2.3-rc" and
// "1.2.3-rc.0".

import { limits } from "../limits.ts";
import { compareSemver, nextSemver } from "./semver.ts";

/** Includes `from` and excludes `to`. Without `from` it starts at the first version; without `to` it is unbounded. */
export interface SemverRange {
  readonly from?: string;
  readonly to?: string;
}

/** Why a requirement has no ranges. */
export interface Unsaid {
  readonly reason: string;
}

export interface SemverRanges {
  /** Ascending and disjoint. */
  readonly ranges: readonly SemverRange[];
}

export type RangeEvent = { readonly introduced: string } | { readonly fixed: string };

export interface AffectedEvents {
  /** Of one SEMVER range of OSV; empty if no version is affected. */
  readonly events: readonly RangeEvent[];
}

interface Comparator {
  readonly operator: string;
  readonly major: bigint;
  readonly minor: bigint | undefined;
  readonly patch: bigint | undefined;
  readonly pre: string;
}

const comparatorForm = /^(>=|<=|[=<>^~])?[ \t]*([0-9]{1,20})(?:\.([0-9]{1,20}|[*xX])(?:\.([0-9]{1,20}|[*xX])(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?)?)?$/;

const isWildcard = (part: string | undefined): boolean => part === "*" || part === "x" || part === "X";

const numberOf = (part: string | undefined): bigint | undefined => (part === undefined || isWildcard(part) ? undefined : BigInt(part));

/** Returns undefined if the text is not a comparator. "1.*" becomes the comparator "*" of a series. */
const parseComparator = (text: string): Comparator | undefined => {
  const found = comparatorForm.exec(text);
  if (!found) return undefined;
  const [, operator, major = "", minor, patch, pre = ""] = found;
  const hasWildcard = isWildcard(minor) || isWildcard(patch);
  // "=1.*" is "1.*". A wildcard is invalid after any other operator and before a number.
  if (hasWildcard && operator !== undefined && operator !== "=") return undefined;
  if ((isWildcard(minor) && patch !== undefined && !isWildcard(patch)) || (hasWildcard && pre !== "")) return undefined;
  if (pre.split(".").some((identifier, _, all) => identifier === "" && all.length > 1)) return undefined;
  return { operator: hasWildcard ? "*" : (operator ?? "^"), major: BigInt(major), minor: numberOf(minor), patch: numberOf(patch), pre };
};

const versionOf = ({ major, minor = 0n, patch = 0n, pre }: Comparator): string => `${major}.${minor}.${patch}${pre === "" ? "" : `-${pre}`}`;

const successorOf = ({ major, minor = 0n, patch = 0n, pre }: Comparator): string =>
  nextSemver({ numbers: [`${major}`, `${minor}`, `${patch}`], pre: pre === "" ? [] : pre.split("."), build: [] });

/** Returns where a caret series ends: its first non-zero number stays fixed. */
const caretEnd = ({ major, minor, patch }: Comparator): string => {
  if (major > 0n || minor === undefined) return `${major + 1n}.0.0-0`;
  if (minor > 0n || patch === undefined) return `0.${minor + 1n}.0-0`;
  return `0.0.${patch + 1n}-0`;
};

const seriesEnd = ({ major, minor }: Comparator): string => (minor === undefined ? `${major + 1n}.0.0-0` : `${major}.${minor + 1n}.0-0`);

const rangeOf = (comparator: Comparator): SemverRange => {
  switch (comparator.operator) {
    case "=":
      return { from: versionOf(comparator), to: successorOf(comparator) };
    case ">":
      return { from: successorOf(comparator) };
    case ">=":
      return { from: versionOf(comparator) };
    case "<":
      return { to: versionOf(comparator) };
    case "<=":
      return { to: successorOf(comparator) };
    case "^":
      return { from: versionOf(comparator), to: caretEnd(comparator) };
    default:
      return { from: versionOf(comparator), to: seriesEnd(comparator) };
  }
};

const compareBounds = (one: string, other: string): number => compareSemver(one, other) ?? 0;

const isEmpty = ({ from, to }: SemverRange): boolean => from !== undefined && to !== undefined && compareBounds(from, to) >= 0;

const intersectRanges = (one: SemverRange, other: SemverRange): SemverRange => {
  const from = one.from === undefined || (other.from !== undefined && compareBounds(other.from, one.from) > 0) ? other.from : one.from;
  const to = one.to === undefined || (other.to !== undefined && compareBounds(other.to, one.to) < 0) ? other.to : one.to;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};

const uniteRanges = (ranges: readonly SemverRange[]): SemverRange[] => {
  const united: SemverRange[] = [];
  const sorted = ranges
    .filter((range) => !isEmpty(range))
    .sort((one, other) =>
      one.from === undefined || other.from === undefined
        ? Number(one.from !== undefined) - Number(other.from !== undefined)
        : compareBounds(one.from, other.from),
    );
  for (const range of sorted) {
    const last = united.at(-1);
    const touches = last && (last.to === undefined || range.from === undefined || compareBounds(range.from, last.to) <= 0);
    if (!touches) {
      united.push(range);
      continue;
    }
    const to = last.to === undefined || range.to === undefined ? undefined : compareBounds(last.to, range.to) < 0 ? range.to : last.to;
    united[united.length - 1] = { ...(last.from === undefined ? {} : { from: last.from }), ...(to === undefined ? {} : { to }) };
  }
  return united;
};

const requirementRange = (requirement: string): SemverRange | Unsaid => {
  if (requirement.length > limits.versionLengthMax) return { reason: `a requirement of more than ${limits.versionLengthMax} characters` };
  const texts = requirement.split(",").map((text) => text.trim());
  let range: SemverRange = {};
  if (texts.length === 1 && ["*", "x", "X"].includes(texts[0] ?? "")) return range;
  for (const text of texts) {
    const comparator = parseComparator(text);
    if (!comparator) return { reason: `${JSON.stringify(text)} is not a Cargo requirement` };
    range = intersectRanges(range, rangeOf(comparator));
  }
  return range;
};

/** Returns the versions that match any of the requirements. */
export const cargoRanges = (requirements: readonly string[]): SemverRanges | Unsaid => {
  const ranges: SemverRange[] = [];
  for (const requirement of requirements) {
    const range = requirementRange(requirement);
    if ("reason" in range) return range;
    ranges.push(range);
  }
  return { ranges: uniteRanges(ranges) };
};

/** Returns the versions that RustSec lists as neither patched nor unaffected, as events of one OSV SEMVER range. */
export const rustsecAffectedEvents = (patched: readonly string[], unaffected: readonly string[]): AffectedEvents | Unsaid => {
  const safe = cargoRanges([...patched, ...unaffected]);
  if ("reason" in safe) return safe;
  const events: RangeEvent[] = [];
  // OSV's "0" is below every version.
  let introduced: string | undefined = "0";
  for (const { from, to } of safe.ranges) {
    if (from !== undefined && introduced !== undefined) events.push({ introduced }, { fixed: from });
    introduced = to;
  }
  if (introduced !== undefined) events.push({ introduced });
  return { events };
};
