// Splits and decodes a query string or form body; contract/read.ts interprets the names. Pure.

import type { Violation } from "#base/fault.ts";
import { limits } from "#base/limits.ts";

export interface Parameters {
  readonly pairs: [string, string][];
  /** Undecodable parameters, by their name as sent. */
  readonly problems: Violation[];
}

const decodeComponent = (text: string): string | undefined => {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
};

/** Splits "a=1&b=2"; a parameter without "=" has the value "". Stops with a problem at the maximum number of parameters. */
export const parseParameters = (text: string): Parameters => {
  const pairs: [string, string][] = [];
  const problems: Violation[] = [];
  let from = 0;
  while (from < text.length) {
    let to = text.indexOf("&", from);
    if (to < 0) to = text.length;
    if (to > from) {
      if (pairs.length === limits.messageValuesMax) {
        problems.push({ field: "body", description: `contains more than ${limits.messageValuesMax} parameters` });
        break;
      }
      const pair = text.slice(from, to);
      const equals = pair.indexOf("=");
      const rawName = equals < 0 ? pair : pair.slice(0, equals);
      const name = decodeComponent(rawName);
      const value = equals < 0 ? "" : decodeComponent(pair.slice(equals + 1));
      if (name === undefined || value === undefined) {
        if (problems.length < limits.violationsMax) problems.push({ field: name ?? rawName, description: "is not valid percent-encoding" });
      } else pairs.push([name, value]);
    }
    from = to + 1;
  }
  return { pairs, problems };
};
