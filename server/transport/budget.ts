// What a message may hold, counted over its bytes before anything is built from them: building 80,000 unknown keys or two
// million fields of a packed frame costs up to a second, and counting stops at the first one too many. Keys and elements
// are counted together, as values. Linear, and at most as much as what it spares.

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
 * Why JSON is beyond the budget; undefined where it is not, or is no JSON, which its parser says. A value has a comma
 * before it or is the first of its list or object; one that is empty counts as if it had a first.
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
