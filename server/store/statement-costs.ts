// Which reads are wide: those whose cost grows with what they look through, such as counts, skips and filters without an
// index. They have connections of their own, so that the cheap ones (by uid, a next page) never wait behind them.
//
// Most lists are small, and two hops through a queue would cost more than they do. So a statement that was quick for an
// organization goes with the cheap ones for a while, as a page; one that did not end in the time of a cheap one goes with the wide
// ones. What one organization's statements cost says nothing of another's.

import { limits } from "#base/limits.ts";

interface Known {
  readonly wide: boolean;
  readonly untilMs: number;
}

export interface StatementCosts {
  /** @param marked whether its maker says that it may be wide */
  isWide(text: string, organization: string, marked: boolean): boolean;
  /** It was alone on its connection, and took so long. */
  measured(text: string, organization: string, ms: number): void;
  /** It did not end in the time of a cheap one. */
  late(text: string, organization: string): void;
}

export const openStatementCosts = (now: () => number = () => performance.now()): StatementCosts => {
  const known = new Map<string, Map<string, Known>>();

  const remember = (text: string, organization: string, wide: boolean): void => {
    let ofText = known.get(text);
    if (!ofText) {
      if (known.size >= limits.statementCostsMax) known.clear();
      ofText = new Map();
      known.set(text, ofText);
    }
    if (ofText.size >= limits.statementCostsEachMax) ofText.clear();
    ofText.set(organization, { wide, untilMs: now() + limits.statementCostLifetimeMs });
  };

  return {
    isWide(text, organization, marked) {
      const found = known.get(text)?.get(organization);
      return found !== undefined && found.untilMs > now() ? found.wide : marked;
    },
    measured(text, organization, ms) {
      if (ms <= limits.quickStatementMs) remember(text, organization, false);
    },
    late(text, organization) {
      remember(text, organization, true);
    },
  };
};
