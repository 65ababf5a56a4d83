// Numbers in versions are as long as their writers like; they are compared as texts of digits and never become doubles. Pure.

export const compareTexts = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1);

/** Two numbers written in digits, of any length, zeros in front ignored. */
export const compareDigits = (one: string, other: string): number => {
  const [left, right] = [one.replace(/^0+(?=[0-9])/, ""), other.replace(/^0+(?=[0-9])/, "")];
  return left.length - right.length || compareTexts(left, right);
};

/** Lists of numbers, a missing one counting as 0: "1.2" is "1.2.0". */
export const compareNumberLists = (one: readonly string[], other: readonly string[]): number => {
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const order = compareDigits(one[index] ?? "0", other[index] ?? "0");
    if (order !== 0) return order;
  }
  return 0;
};

export const isDigits = (text: string): boolean => /^[0-9]+$/.test(text);
