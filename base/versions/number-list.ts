// Order of purely numeric versions: Haskell packages, and R packages, which treat a hyphen as a dot. A prefix sorts before the
// longer list: "1.0" before "1.0.0".

import { compareDigits } from "./digits.ts";

const form = /^[0-9]+(?:[.-][0-9]+)*$/;

export const compareNumberList = (one: string, other: string): number | undefined => {
  if (!form.test(one) || !form.test(other)) return undefined;
  const [left, right] = [one.split(/[.-]/), other.split(/[.-]/)];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const order = compareDigits(left[index] ?? "0", right[index] ?? "0");
    if (order !== 0) return order;
  }
  return left.length - right.length;
};
