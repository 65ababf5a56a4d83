// Which reads are wide: those whose cost grows with what they look through, such as counts, skips and filters. They have
// connections of their own, so that the cheap ones (by uid, a next page) never wait behind them.
//
// Most lists are small, and with the cheap ones they are quicker. So what was quick goes with them for a while: the very
// same statement with the same values, for the same organization, since another value may make it look through everything.
// And what did not end in the time of a cheap read goes with the wide ones, with whatever values.

import { hash } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { Param } from "./handle.ts";

export interface StatementCosts {
  /** @param marked whether its maker says that it may be wide */
  isWide(organization: string, text: string, values: readonly Param[], marked: boolean): boolean;
  /** It was alone on its connection, and took so long. */
  measured(organization: string, text: string, values: readonly Param[], ms: number): void;
  /** It did not end in the time of a cheap read. */
  late(organization: string, text: string): void;
}

/** What is known of one organization's statements: until when. */
interface Known {
  /** By the digest of the statement and its values. */
  readonly quick: Map<string, number>;
  /** By the statement. */
  readonly late: Map<string, number>;
}

const holds = (untilMs: number | undefined, nowMs: number): boolean => untilMs !== undefined && untilMs > nowMs;

/** A list of many values costs more to digest than a place in the line. */
const isShort = (values: readonly Param[]): boolean => values.every((value) => !Array.isArray(value) || value.length <= limits.quickValuesMax);

const digestOf = (text: string, values: readonly Param[]): string => hash("sha1", `${text}\n${JSON.stringify(values)}`, "base64url");

export const openStatementCosts = (now: () => number = () => performance.now()): StatementCosts => {
  const organizations = new Map<string, Known>();

  const knownOf = (organization: string): Known => {
    const found = organizations.get(organization);
    if (found) return found;
    const [oldest] = organizations.keys();
    if (oldest !== undefined && organizations.size >= limits.statementOrganizationsMax) organizations.delete(oldest);
    const made: Known = { quick: new Map(), late: new Map() };
    organizations.set(organization, made);
    return made;
  };

  const remember = (entries: Map<string, number>, key: string): void => {
    if (entries.size >= limits.statementsEachMax) entries.clear();
    entries.set(key, now() + limits.statementCostLifetimeMs);
  };

  return {
    isWide(organization, text, values, marked) {
      const known = organizations.get(organization);
      if (known === undefined) return marked;
      if (holds(known.late.get(text), now())) return true;
      return marked && !(isShort(values) && holds(known.quick.get(digestOf(text, values)), now()));
    },
    measured(organization, text, values, ms) {
      if (ms <= limits.quickStatementMs && isShort(values)) remember(knownOf(organization).quick, digestOf(text, values));
    },
    late(organization, text) {
      remember(knownOf(organization).late, text);
    },
  };
};
