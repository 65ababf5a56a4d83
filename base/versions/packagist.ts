// Order of Composer versions: up to four numbers (or those of a date), a stability with its own numbers, and an optional "-dev".
// Branches ("dev-main", "2.x-dev") have no order.
//
//   dev < alpha < beta < RC < (none) < patch

import { compareDigits, compareNumberLists } from "./digits.ts";

const form = /^v?([0-9]+(?:[.:-][0-9]+)*)(?:[._-]?(stable|alpha|beta|patch|rc|pl|a|b|p)([.-]?[0-9]+(?:[.-][0-9]+)*)?)?(?:[.-]?(dev))?(?:\+[^ ]*)?$/;

const ranks: Readonly<Record<string, number>> = { dev: 0, alpha: 1, a: 1, beta: 2, b: 2, rc: 3, stable: 4, patch: 5, pl: 5, p: 5 };
const stable = 4;

interface PackagistVersion {
  readonly numbers: readonly string[];
  readonly rank: number;
  readonly further: readonly string[];
  readonly isDevelopment: boolean;
}

const parsePackagist = (version: string): PackagistVersion | undefined => {
  const found = form.exec(version.trim().toLowerCase());
  if (!found) return undefined;
  const [, numbers = "", word, further = "", development] = found;
  // "1.0-dev" precedes 1.0; "1.0-beta1-dev" precedes the beta.
  const rank = word === undefined || word === "stable" ? (development === undefined ? stable : 0) : (ranks[word] ?? stable);
  return { numbers: numbers.split(/[.:-]/), rank, further: further.match(/[0-9]+/g) ?? [], isDevelopment: rank > 0 && development !== undefined };
};

/** Unlike release numbers, "beta" sorts before "beta0". */
const compareFurther = (one: readonly string[], other: readonly string[]): number => {
  for (let index = 0; ; index++) {
    const [left, right] = [one[index], other[index]];
    if (left === undefined || right === undefined) return left === right ? 0 : left === undefined ? -1 : 1;
    const order = compareDigits(left, right);
    if (order !== 0) return order;
  }
};

export const comparePackagist = (one: string, other: string): number | undefined => {
  const [left, right] = [parsePackagist(one), parsePackagist(other)];
  if (!left || !right) return undefined;
  return (
    compareNumberLists(left.numbers, right.numbers) ||
    left.rank - right.rank ||
    compareFurther(left.further, right.further) ||
    Number(right.isDevelopment) - Number(left.isDevelopment)
  );
};
