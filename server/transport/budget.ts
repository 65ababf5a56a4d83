// Bounds the number of values in a message by counting over its bytes before decoding: 80,000 unknown keys, or two million fields of a
// compressed frame, cost up to a second to decode. Keys and elements count together. Linear, and never dearer than decoding.

export interface Budget {
  readonly valuesMax: number;
  readonly depthMax: number;
}

export const tooManyValues = (max: number): string => `contains more than ${max} keys and elements`;
export const tooDeep = (max: number): string => `is nested more than ${max} levels deep`;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Returns why JSON exceeds the budget; undefined if it does not, or if it is invalid, which the parser reports. Each comma and each
 * opening bracket is one value, so an empty list counts as one.
 */
export const jsonExcess = (bytes: Uint8Array, { valuesMax, depthMax }: Budget): string | undefined => {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
        break;
      case openBrace:
      case openBracket:
        if (++depth > depthMax) return tooDeep(depthMax);
        if (++values > valuesMax) return tooManyValues(valuesMax);
        break;
      case comma:
        if (++values > valuesMax) return tooManyValues(valuesMax);
        break;
      case closeBrace:
      case closeBracket:
        depth--;
    }
  }
  return undefined;
};
