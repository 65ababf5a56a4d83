// Which versions of a crate a RustSec record calls affected: all but those that match one of its patched or unaffected
// requirements (in Cargo's notation), as intervals in the order of Semantic Versioning. RustSec judges by the same
// intervals: what `^1.2` says of 2.0.0-alpha, Cargo's own rules for choosing dependencies do not decide here. Pure.

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];
}

/** A requirement that is in no notation of Cargo, or says something that intervals cannot. */
export class RequirementError extends Error {}

const identifierOrder = (one: string, other: string): number => {
  const [isNumber, isOtherNumber] = [/^[0-9]+$/.test(one), /^[0-9]+$/.test(other)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : one > other ? 1 : 0;
};

/** SemVer 2.0.0, 11. */
const compareVersions = (one: Version, other: Version): number => {
  for (const index of [0, 1, 2] as const) {
    if (one.numbers[index] !== other.numbers[index]) return one.numbers[index] < other.numbers[index] ? -1 : 1;
  }
  const [left, right] = [one.prerelease, other.prerelease];
  if (left.length === 0 || right.length === 0) return (left.length === 0 ? 1 : 0) - (right.length === 0 ? 1 : 0);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const [a, b] = [left[index], right[index]];
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    const order = identifierOrder(a, b);
    if (order !== 0) return order;
  }
  return 0;
};

const versionText = ({ numbers, prerelease }: Version): string => `${numbers.join(".")}${prerelease.length > 0 ? `-${prerelease.join(".")}` : ""}`;

/** The lowest version that there is, as OSV's records of RustSec write it. */
const lowest: Version = { numbers: [0n, 0n, 0n], prerelease: ["0"] };

/** The lowest of all versions behind this one: nothing lies between the two. */
const nextVersion = ({ numbers, prerelease }: Version): Version => {
  const [major, minor, patch] = numbers;
  return prerelease.length > 0 ? { numbers, prerelease: [...prerelease, "0"] } : { numbers: [major, minor, patch + 1n], prerelease: ["0"] };
};

/** From a version on (itself included) up to another one (not included); undefined: to the end. */
interface Interval {
  readonly start: Version;
  readonly end: Version | undefined;
}

const comparatorForm =
  /^(>=|<=|>|<|=|\^|~)?\s*(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?)?)?$/;

/** The first version of another series: no pre-release of it is of this one. */
const seriesStart = (...numbers: [bigint, bigint, bigint]): Version => ({ numbers, prerelease: ["0"] });

const comparatorInterval = (text: string): Interval => {
  const found = comparatorForm.exec(text.trim());
  if (!found) throw new RequirementError(`${JSON.stringify(text.trim())} is no requirement of Cargo`);
  const [, operator = "^", majorText = "0", minorText, patchText, prereleaseText] = found;
  const [major, minor, patch] = [BigInt(majorText), BigInt(minorText ?? 0), BigInt(patchText ?? 0)];
  const version: Version = { numbers: [major, minor, patch], prerelease: prereleaseText?.split(".") ?? [] };
  // "> 1.2" and "= 1.2" are meant of all versions 1.2.x by Cargo, and of 1.2.0 by RustSec.
  if (patchText === undefined && (operator === ">" || operator === "<=" || operator === "="))
    throw new RequirementError(`${JSON.stringify(text.trim())} means one thing to Cargo and another to RustSec`);
  switch (operator) {
    case ">=":
      return { start: version, end: undefined };
    case ">":
      return { start: nextVersion(version), end: undefined };
    case "<":
      return { start: lowest, end: version };
    case "<=":
      return { start: lowest, end: nextVersion(version) };
    case "=":
      return { start: version, end: nextVersion(version) };
    case "~":
      return { start: version, end: minorText === undefined ? seriesStart(major + 1n, 0n, 0n) : seriesStart(major, minor + 1n, 0n) };
    default:
      if (major > 0n || minorText === undefined) return { start: version, end: seriesStart(major + 1n, 0n, 0n) };
      if (minor > 0n || patchText === undefined) return { start: version, end: seriesStart(0n, minor + 1n, 0n) };
      return { start: version, end: seriesStart(0n, 0n, patch + 1n) };
  }
};

const isBefore = (one: Version | undefined, other: Version | undefined): boolean => {
  if (one === undefined) return false;
  return other === undefined || compareVersions(one, other) < 0;
};

/** What all comparators of a requirement have in common; undefined for nothing. */
const requirementInterval = (requirement: string): Interval | undefined => {
  if (requirement.trim() === "*") return { start: lowest, end: undefined };
  let common: Interval = { start: lowest, end: undefined };
  for (const text of requirement.split(",")) {
    const { start, end } = comparatorInterval(text);
    common = { start: isBefore(common.start, start) ? start : common.start, end: isBefore(end, common.end) ? end : common.end };
  }
  return isBefore(common.start, common.end) ? common : undefined;
};

/** The events of OSV's ranges that hold every version that matches none of these requirements. Throws RequirementError. */
export const eventsOutside = (requirements: readonly string[]): { introduced: string; fixed?: string }[] => {
  const safe = requirements.flatMap((requirement) => requirementInterval(requirement) ?? []).sort((one, other) => compareVersions(one.start, other.start));
  const events: { introduced: string; fixed?: string }[] = [];
  let from: Version | undefined = lowest;
  for (const { start, end } of safe) {
    if (from === undefined) break;
    if (isBefore(from, start)) events.push({ introduced: versionText(from), fixed: versionText(start) });
    if (end === undefined) from = undefined;
    else if (isBefore(from, end)) from = end;
  }
  if (from !== undefined) events.push({ introduced: versionText(from) });
  return events;
};
