// The order of rpm's versions (rpmvercmp): epoch, version, release. In each, runs of digits and of letters are compared, digits
// being the newer; "~" comes before the end, "^" right behind it; all else only separates. No epoch is 0. Pure.

import { compareDigits, compareTexts, isDigits } from "./digits.ts";

const form = /^(?:([0-9]+):)?([!-9;-~]+)$/;

/** What a run is to another one that stands in the same place: "~" first, then the end, "^", letters, numbers. */
const rankOf = (run: string | undefined): number => {
  if (run === "~") return 0;
  if (run === undefined) return 1;
  if (run === "^") return 2;
  return isDigits(run) ? 4 : 3;
};

const compareRuns = (one: string, other: string): number => {
  const [left, right] = [one, other].map((text) => text.match(/[0-9]+|[A-Za-z]+|[~^]/g) ?? []);
  for (let index = 0; ; index++) {
    const [a, b] = [left?.[index], right?.[index]];
    const [rank, otherRank] = [rankOf(a), rankOf(b)];
    if (rank !== otherRank) return rank - otherRank;
    if (a === undefined || b === undefined) return 0;
    const order = rank === 4 ? compareDigits(a, b) : compareTexts(a, b);
    if (order !== 0) return order;
  }
};

interface RpmVersion {
  readonly epoch: string;
  readonly version: string;
  readonly release: string;
}

/** Undefined for what is no version. */
const parseRpm = (text: string): RpmVersion | undefined => {
  const found = form.exec(text);
  if (!found) return undefined;
  const [, epoch = "0", rest = ""] = found;
  const hyphen = rest.indexOf("-");
  return { epoch, version: hyphen < 0 ? rest : rest.slice(0, hyphen), release: hyphen < 0 ? "" : rest.slice(hyphen + 1) };
};

export const compareRpm = (one: string, other: string): number | undefined => {
  const [left, right] = [parseRpm(one), parseRpm(other)];
  if (!left || !right) return undefined;
  return compareDigits(left.epoch, right.epoch) || compareRuns(left.version, right.version) || compareRuns(left.release, right.release);
};
