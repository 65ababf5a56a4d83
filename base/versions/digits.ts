// Compares numbers of any length as digits, without conversion to doubles.

export const compareTexts = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1);

/** Compares two numbers; leading zeros are ignored. */
export const compareDigits = (one: string, other: string): number => {
  const [left, right] = [one.replace(/^0+(?=[0-9])/, ""), other.replace(/^0+(?=[0-9])/, "")];
  return left.length - right.length || compareTexts(left, right);
};

/** Compares lists of numbers; a missing one counts as 0, so "1.2" equals "1.2.0". */
export const compareNumberLists = (one: readonly string[], other: readonly string[]): number => {
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const order = compareDigits(one[index] ?? "0", other[index] ?? "0");
    if (order !== 0) return order;
  }
  return 0;
};

export const isDigits = (text: string): boolean => /^[0-9]+$/.test(text);
