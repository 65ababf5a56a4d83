// Judges the tags of a repo by its retention rules. A tag is deleted if at least one rule matches it, no matching rule keeps it, and
// nothing protects it. So rules combine in any order, and a rule can never delete what another one keeps.

import { setImmediate } from "node:timers/promises";
import { blocked } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { compilePattern, matchingBudget, type MatchingBudget, openTurns } from "#base/pattern.ts";
import { timestamp } from "#base/time.ts";
import { covers, parentOf } from "#base/uid.ts";
import { compareParsedSemver, parseSemver, type SemverVersion } from "#base/versions/semver.ts";
import { findImmutableTagRules, findTagFacts, type ImmutableTagPattern, type RetentionRule, type TagFacts } from "#registry/store";
import type { Read } from "#db";

const dayMs = 24 * 60 * 60 * 1000;

const dayOf = (ms: number): string => timestamp(ms).slice(0, 10);

/** Returns the version of a tag with exactly three numbers; others, such as "1.2", move with each release. */
const versionOf = (tag: string): SemverVersion | undefined => {
  const version = parseSemver(tag);
  return version?.numbers.length === 3 ? version : undefined;
};

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "=": (order) => order === 0,
};

type VersionRange = (version: SemverVersion) => boolean;

/** Parses a range such as ">=1.2.0 <2.0.0"; undefined if it is not one. */
export const readVersionRange = (text: string): VersionRange | undefined => {
  const parts = text.split(" ").map((part) => {
    const [, sign = "", rest = ""] = /^(<=?|>=?|=)(.+)$/.exec(part) ?? [];
    const [compare, bound] = [comparisons[sign], versionOf(rest)];
    return compare && bound && ((version: SemverVersion) => compare(compareParsedSemver(version, bound)));
  });
  if (parts.length > limits.versionComparisonsMax || parts.includes(undefined)) return undefined;
  return (version) => parts.every((part) => part?.(version) ?? false);
};

/** Rules that apply to a repo. */
export const rulesOfRepo = (rules: readonly RetentionRule[], repo: string): RetentionRule[] =>
  rules.filter(({ uid, repoUid }) => (repoUid === "" || repoUid === repo) && covers(parentOf(uid), repo));

/** Returns why no rule may delete the tag; undefined if nothing protects it. */
const protectionOf = ({ reportedBy, runtimeMs, index, referrer, attachedTo }: TagFacts, runtimeSinceMs: number): string | undefined => {
  if (reportedBy !== "") return `in use: reported by ${reportedBy}`;
  if (runtimeMs !== undefined && runtimeMs >= runtimeSinceMs) return `in use: pulled by an identity with the label runtime on ${dayOf(runtimeMs)}`;
  if (index !== "") return `the index ${index} lists its manifest`;
  if (referrer !== "") return `${referrer} refers to its manifest`;
  if (attachedTo !== "") return `it is attached to ${attachedTo}`;
  return undefined;
};

/** Returns the rule that makes a tag immutable. A pattern that no longer compiles protects. */
const immutableBy = (rules: readonly ImmutableTagPattern[], budget: MatchingBudget): ((name: string) => ImmutableTagPattern | undefined) => {
  const compiled = rules.map((rule) => ({ rule, matches: compilePattern(rule.pattern) }));
  return (name) => compiled.find(({ matches }) => matches?.(name, budget) ?? true)?.rule;
};

interface Judge {
  readonly rule: RetentionRule;
  readonly matches: (tag: TagFacts) => boolean;
}

const readRule = (rule: RetentionRule, budget: MatchingBudget): Judge => {
  const pattern = rule.tagPattern === "" ? undefined : compilePattern(rule.tagPattern);
  const range = rule.versionRange === "" ? undefined : readVersionRange(rule.versionRange);
  // Rules are checked when they are written. What cannot be read must not delete.
  if ((rule.tagPattern !== "" && !pattern) || (rule.versionRange !== "" && !range))
    throw blocked("RETENTION_RULE_INVALID", rule.uid, [`the retention rule ${JSON.stringify(rule.name)} cannot be read`]);
  return {
    rule,
    matches: ({ name }) => {
      if (pattern && !pattern(name, budget)) return false;
      if (!range) return true;
      const version = versionOf(name);
      return version !== undefined && range(version);
    },
  };
};

/** Tags of a repo that a rule keeps by their number. */
interface KeptByNumber {
  readonly last: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
}

const keptByNumber = ({ keepLast, keepVersions }: RetentionRule, matched: readonly TagFacts[]): KeptByNumber => {
  const byTime = keepLast === 0 ? [] : matched.toSorted((one, other) => other.updateMs - one.updateMs || (one.name < other.name ? -1 : 1));
  const versions = keepVersions === 0 ? [] : matched.flatMap(({ uid, name }) => ({ uid, version: versionOf(name) }));
  const byVersion = versions
    .flatMap(({ uid, version }) => (version ? [{ uid, version }] : []))
    .sort((one, other) => compareParsedSemver(other.version, one.version));
  return {
    last: new Set(byTime.slice(0, keepLast).map(({ uid }) => uid)),
    versions: new Set(byVersion.slice(0, keepVersions).map(({ uid }) => uid)),
  };
};

/** Returns why a matching rule keeps the tag; undefined if it does not. */
const keptBecause = (rule: RetentionRule, kept: KeptByNumber, tag: TagFacts, nowMs: number): string | undefined => {
  const { keepAll, keepLast, keepVersions, keepDays, keepPulledDays } = rule;
  if (keepAll) return "it keeps all";
  if (kept.last.has(tag.uid)) return `one of the last ${keepLast} changed`;
  if (kept.versions.has(tag.uid)) return `one of the ${keepVersions} highest versions`;
  if (keepDays > 0 && tag.updateMs > nowMs - keepDays * dayMs) return `changed on ${dayOf(tag.updateMs)}, less than ${keepDays} days ago`;
  if (keepPulledDays > 0 && tag.usedMs > nowMs - keepPulledDays * dayMs)
    return `pulled or changed on ${dayOf(tag.usedMs)}, less than ${keepPulledDays} days ago`;
  return undefined;
};

const deletedBecause = ({ keepLast, keepVersions, keepDays, keepPulledDays }: RetentionRule, tag: TagFacts): string =>
  [
    ...(keepLast > 0 ? [`not among the last ${keepLast} changed`] : []),
    ...(keepVersions > 0 ? [`not among the ${keepVersions} highest versions`] : []),
    ...(keepDays > 0 ? [`changed on ${dayOf(tag.updateMs)}, not in the last ${keepDays} days`] : []),
    ...(keepPulledDays > 0 ? [`pulled or changed on ${dayOf(tag.usedMs)}, not in the last ${keepPulledDays} days`] : []),
  ].join("; ");

export interface TagVerdict {
  readonly tag: TagFacts;
  readonly isDeleted: boolean;
  readonly reason: string;
  /** The rule that decides; undefined if none does. */
  readonly rule: RetentionRule | undefined;
}

const tooLarge = (repo: string, why: string) => blocked("RETENTION_TOO_LARGE", repo, [`the retention rules of the repo cannot be applied: ${why}`]);

const tooExpensive = (repo: string, count: number) => tooLarge(repo, `its ${count} tags are too many for the patterns. Use shorter patterns`);

/**
 * Judges all tags of a repo, by name. Throws FAILED_PRECONDITION if the repo has too many tags, or the patterns are too expensive for
 * them: then nothing may be deleted.
 * @param rules that apply to the repo
 */
export const judgeTags = async (rows: Read, repo: string, rules: readonly RetentionRule[], nowMs: number): Promise<TagVerdict[]> => {
  const tags = await findTagFacts(rows, repo, nowMs, limits.retentionTagsMax + 1);
  if (tags.length > limits.retentionTagsMax) throw tooLarge(repo, `it has more than ${limits.retentionTagsMax} tags`);
  const budget = matchingBudget(limits.retentionMatchingSteps);
  const matching = new Map<string, { readonly rule: RetentionRule; readonly kept: KeptByNumber }[]>();
  const isTurnOver = openTurns(budget);
  for (const { rule, matches } of rules.map((rule) => readRule(rule, budget))) {
    const matched: TagFacts[] = [];
    for (const tag of tags) {
      if (matches(tag)) matched.push(tag);
      if (isTurnOver()) await setImmediate();
      // Beyond the budget nothing matches, and a rule that keeps would not.
      if (budget.steps < 0) throw tooExpensive(repo, tags.length);
    }
    const kept = keptByNumber(rule, matched);
    for (const { uid } of matched) matching.set(uid, [...(matching.get(uid) ?? []), { rule, kept }]);
  }
  const immutableRules = await findImmutableTagRules(rows, repo);
  const ruleOf = immutableBy(immutableRules, budget);
  const immutable = new Map<string, ImmutableTagPattern>();
  for (const { uid, name } of immutableRules.length === 0 ? [] : tags.filter((tag) => matching.has(tag.uid))) {
    const rule = ruleOf(name);
    if (rule) immutable.set(uid, rule);
    if (isTurnOver()) await setImmediate();
    if (budget.steps < 0) throw tooExpensive(repo, tags.length);
  }
  const inUseDays = Math.max(0, ...rules.map((rule) => rule.inUseDays || limits.runtimePullDays));
  return tags.map((tag): TagVerdict => {
    const matched = matching.get(tag.uid) ?? [];
    const [first] = matched;
    if (!first) return { tag, isDeleted: false, reason: "no rule matches it", rule: undefined };
    const fixed = immutable.get(tag.uid);
    const protection = fixed ? `immutable by the rule ${JSON.stringify(fixed.pattern)}` : protectionOf(tag, nowMs - inUseDays * dayMs);
    if (protection !== undefined) return { tag, isDeleted: false, reason: protection, rule: undefined };
    for (const { rule, kept } of matched) {
      const why = keptBecause(rule, kept, tag, nowMs);
      if (why !== undefined) return { tag, isDeleted: false, reason: `rule ${JSON.stringify(rule.name)} keeps it: ${why}`, rule };
    }
    return { tag, isDeleted: true, reason: `rule ${JSON.stringify(first.rule.name)}: ${deletedBecause(first.rule, tag)}`, rule: first.rule };
  });
};
