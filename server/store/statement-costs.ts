// Decides which reads are wide, that is, have a cost that grows with the rows they search: counts, skips, filters. Wide reads have their
// own connections, so that cheap reads (by uid, a next page) never wait for them.
//
// Most lists are small and run faster as cheap reads. So after a quick run, the same statement with the same values counts as cheap for a
// while in the same organization; another value may search everything. A statement that exceeds the time limit of cheap reads counts as
// wide with any values.

import { hash } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { Param } from "./handle.ts";

export interface StatementCosts {
  /** @param marked the caller's estimate */
  isWide(organization: string, text: string, values: readonly Param[], marked: boolean): boolean;
  /** Records the duration of a read that was alone on its connection. */
  measured(organization: string, text: string, values: readonly Param[], ms: number): void;
  /** Records that a read exceeded the time limit of cheap reads. */
  late(organization: string, text: string): void;
}

/** Known statements of one organization and when the knowledge expires. */
interface Known {
  /** By digest of the statement and its values. */
  readonly quick: Map<string, number>;
  /** By statement. */
  readonly late: Map<string, number>;
}

const holds = (untilMs: number | undefined, nowMs: number): boolean => untilMs !== undefined && untilMs > nowMs;

/** Hashing a long list of values costs more than waiting in the queue. */
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
