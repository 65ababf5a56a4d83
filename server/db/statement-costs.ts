// Decides which reads are wide, that is, cost more the more rows they search. Wide reads have their own connections, so that cheap reads
// never wait for them.
//
// Small lists run faster as cheap reads. So after a quick run, the same statement with the same values counts as cheap for a while. After
// a timeout, it counts as wide with any values.

import { hash } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { Param } from "./handle.ts";

export interface StatementCosts {
  /** @param marked the caller's estimate */
  isWide(organization: string, text: string, values: readonly Param[], marked: boolean): boolean;
  /** Its duration alone on a connection. */
  measured(organization: string, text: string, values: readonly Param[], ms: number): void;
  /** It exceeded the time limit of cheap reads. */
  late(organization: string, text: string): void;
}

interface Known {
  readonly quick: Map<string, number>;
  readonly late: Map<string, number>;
}

const holds = (untilMs: number | undefined, nowMs: number): boolean => untilMs !== undefined && untilMs > nowMs;

/** Hashing many values costs more than the queue. */
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
