// Order of Ruby gem versions: segments of digits and letters, letters first, so that "1.0.rc1" is a pre-release. A hyphen means
// ".pre."; trailing zeros are ignored.

import { compareDigits, compareTexts, isDigits } from "./digits.ts";

const form = /^[0-9]+(?:\.[0-9A-Za-z]+)*(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

const withoutTrailingZeros = (segments: readonly string[]): readonly string[] =>
  segments.slice(0, segments.findLastIndex((segment) => !/^0+$/.test(segment)) + 1);

const segmentsOf = (version: string): readonly string[] | undefined => {
  const trimmed = version.trim();
  if (!form.test(trimmed)) return undefined;
  const segments = trimmed.replaceAll("-", ".pre.").match(/[0-9]+|[A-Za-z]+/g) ?? [];
  const firstLetters = segments.findIndex((segment) => !isDigits(segment));
  const numbersEnd = firstLetters < 0 ? segments.length : firstLetters;
  return [...withoutTrailingZeros(segments.slice(0, numbersEnd)), ...withoutTrailingZeros(segments.slice(numbersEnd))];
};

export const compareRubygems = (one: string, other: string): number | undefined => {
  const [left, right] = [segmentsOf(one), segmentsOf(other)];
  if (!left || !right) return undefined;
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const [a, b] = [left[index] ?? "0", right[index] ?? "0"];
    const [isNumber, otherIsNumber] = [isDigits(a), isDigits(b)];
    if (isNumber !== otherIsNumber) return isNumber ? 1 : -1;
    const order = isNumber ? compareDigits(a, b) : compareTexts(a, b);
    if (order !== 0) return order;
  }
  return 0;
};
