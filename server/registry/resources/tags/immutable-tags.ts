// Immutable tags: a tag that a rule matches and that has a digest cannot be moved, renamed or deleted, nor can its manifest, the
// manifests that this one lists, or its repo. Each change of a tag passes here, whatever its protocol or cause.

import { setImmediate } from "node:timers/promises";
import { blocked, type Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { compilePattern, matchingBudget, openTurns } from "#base/pattern.ts";
import { findImmutableTagRules, findTagNames, findTagsThatInclude, type ImmutableTagPattern } from "#registry/store";
import type { Write } from "#db";

/** By transaction and repo: a deletion asks for each of its tags. */
const rulesOfTransactions = new WeakMap<Write, Map<string, Promise<ImmutableTagPattern[]>>>();

const rulesOf = (rows: Write, repo: string): Promise<ImmutableTagPattern[]> => {
  const known = rulesOfTransactions.get(rows) ?? new Map<string, Promise<ImmutableTagPattern[]>>();
  rulesOfTransactions.set(rows, known);
  const rules = known.get(repo) ?? findImmutableTagRules(rows, repo);
  known.set(repo, rules);
  return rules;
};

export const hasImmutableTagRules = async (rows: Write, repo: string): Promise<boolean> => (await rulesOf(rows, repo)).length > 0;

interface ImmutableTag {
  readonly name: string;
  readonly rule: ImmutableTagPattern;
}

const tooExpensive = (repo: string): Fault =>
  blocked("TAG_IMMUTABLE", repo, ["cannot check so many tags against the immutable tag rules: delete tags first, or simplify the rules"]);

/** Returns the first name that a rule matches. Other requests run between pieces of the work. */
const findMatch = async (repo: string, rules: readonly ImmutableTagPattern[], names: readonly string[]): Promise<ImmutableTag | undefined> => {
  const budget = matchingBudget(limits.immutableTagStepsMax);
  const isTurnOver = openTurns(budget);
  for (const name of names) {
    for (const rule of rules) {
      // A pattern that no longer compiles protects: the safe side.
      const isMatch = compilePattern(rule.pattern)?.(name, budget) ?? true;
      if (budget.steps < 0) throw tooExpensive(repo);
      if (isMatch) return { name, rule };
      if (isTurnOver()) await setImmediate();
    }
  }
  return undefined;
};

const immutable = (subject: string, what: string, { name, rule }: ImmutableTag): Fault =>
  blocked("TAG_IMMUTABLE", subject, [
    `${what}: the tag ${JSON.stringify(name)} is immutable by the rule ${JSON.stringify(rule.pattern)} of ${rule.place}. Use another tag, or delete the rule`,
  ]);

/** Throws FAILED_PRECONDITION if the tag is immutable. `what`: what it prevents, such as "cannot move the tag". */
export const requireMutableTag = async (rows: Write, repo: string, tag: { readonly uid: string; readonly name: string }, what: string): Promise<void> => {
  const rules = await rulesOf(rows, repo);
  const found = rules.length === 0 ? undefined : await findMatch(repo, rules, [tag.name]);
  if (found) throw immutable(tag.uid, what, found);
};

/** Throws FAILED_PRECONDITION if an immutable tag points to the manifest, or to an index that includes it. */
export const requireMutableManifest = async (rows: Write, repo: string, sha256: string): Promise<void> => {
  const rules = await rulesOf(rows, repo);
  if (rules.length === 0) return;
  const found = await findMatch(repo, rules, await findTagsThatInclude(rows, repo, sha256));
  if (found) throw immutable(repo, "cannot delete the manifest", found);
};

/** Throws FAILED_PRECONDITION if the repo has an immutable tag. */
export const requireMutableRepo = async (rows: Write, repo: string): Promise<void> => {
  const rules = await rulesOf(rows, repo);
  for (let last = ""; rules.length > 0; ) {
    const names = await findTagNames(rows, repo, last, limits.tagNamesMax);
    const found = await findMatch(repo, rules, names);
    if (found) throw immutable(repo, "cannot delete the repo", found);
    if (names.length < limits.tagNamesMax) return;
    last = names.at(-1) ?? "";
  }
};
