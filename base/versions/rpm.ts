// Order of rpm versions (rpmvercmp): epoch (default 0), version, release. Runs of digits and letters are compared, digits being
// newer. "~" sorts before the end, "^" right after it; other characters only separate.

import { compareDigits, compareTexts, isDigits } from "./digits.ts";

const form = /^(?:([0-9]+):)?([!-9;-~]+)$/;

/** Ranks runs at the same position: "~", the end, "^", letters, numbers. */
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
