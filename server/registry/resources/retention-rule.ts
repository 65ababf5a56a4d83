// A retention rule: which old tags of a group's repos the server deletes (server/application/tag-retention.ts). Judging tags is in
// server/registry/collection/retention.ts.

import { missing, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { compilePattern } from "#base/pattern.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { covers, newChild, parentOf, rootOf } from "#base/uid.ts";
import { answerPage, type Outcome, type ReadContext, resource, type RuleContext } from "#kernel";
import { judgeTags, readVersionRange, rulesOfRepo } from "#registry/collection";
import { findRetentionRules, lockRetentionRules } from "#registry/store";
import { findRow } from "#db";
import { type ComparedRule, contradictionOf } from "./rules/contradiction.ts";

const criteria = ["keepLast", "keepVersions", "keepDays", "keepPulledDays"] as const;

const comparedRule = (draft: JsonObject, uid: string): ComparedRule => ({
  uid,
  name: text(draft, "name"),
  repoUid: text(draft, "repoUid"),
  tagPattern: text(draft, "tagPattern"),
  versionRange: text(draft, "versionRange"),
  keepAll: draft.keepAll === true,
  keepLast: Number(draft.keepLast ?? 0),
  keepVersions: Number(draft.keepVersions ?? 0),
  keepDays: Number(draft.keepDays ?? 0),
  keepPulledDays: Number(draft.keepPulledDays ?? 0),
});

const formViolations = (rule: ComparedRule): Violation[] => {
  const out: Violation[] = [];
  const { tagPattern, versionRange, keepAll } = rule;
  if (tagPattern !== "" && (patternCost(tagPattern) > limits.retentionPatternCostMax || compilePattern(tagPattern) === undefined))
    out.push({ field: "tagPattern", description: "must be a valid RE2 pattern that is not too large, such as build-.*" });
  if (versionRange !== "" && readVersionRange(versionRange) === undefined)
    out.push({ field: "versionRange", description: 'must be up to four comparisons separated by spaces, such as ">=1.0.0 <2.0.0"' });
  const given = criteria.filter((name) => rule[name] > 0);
  if (keepAll && given.length > 0) out.push({ field: "keepAll", description: "must not be combined with other numbers to keep" });
  if (!keepAll && given.length === 0)
    out.push({ field: "keepLast", description: "at least one of keepAll, keepLast, keepVersions, keepDays and keepPulledDays is needed" });
  return out;
};

const rules = async (draft: JsonObject, { before, parent, rows }: RuleContext): Promise<Violation[]> => {
  const group = before ? parentOf(text(draft, "uid")) : parent;
  const rule = comparedRule(draft, text(draft, "uid") || newChild(group));
  const violations = formViolations(rule);
  if (rule.repoUid !== "" && !(covers(group, rule.repoUid) && (await findRow(rows, { name: "repos", columns: ["uid"] }, rule.repoUid))))
    violations.push({ field: "repoUid", description: "must be the uid of a repo below the group" });
  if (violations.length > 0) return violations;
  const organization = rootOf(group);
  await lockRetentionRules(rows, organization);
  const others = (await findRetentionRules(rows, organization)).filter(({ uid }) => uid !== rule.uid);
  // Its unique name is the problem then.
  if (others.some(({ uid, name }) => parentOf(uid) === group && name === rule.name)) return [];
  if (others.length >= limits.retentionRulesEach)
    return [{ field: "name", description: `must not be one more: an organization has at most ${limits.retentionRulesEach} retention rules` }];
  for (const other of others) {
    const why = contradictionOf(rule, other);
    if (why !== undefined)
      return [
        {
          field: "tagPattern",
          description: `the retention rule ${JSON.stringify(rule.name)} contradicts ${JSON.stringify(other.name)} (${other.uid}): ${why}`,
        },
      ];
  }
  return [];
};

const preview = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const repo = text(request, "repoUid");
  if (!(await findRow(rows, { name: "repos", columns: ["uid"] }, repo))) throw missing("registry", "Repo", repo);
  return answerPage(context, async (page) => {
    const { order, after, skip, limit } = page;
    const applied = rulesOfRepo(await findRetentionRules(rows, rootOf(repo)), repo).filter(({ previewOnly }) => !previewOnly || request.enforcedOnly !== true);
    const judged = await judgeTags(rows, repo, applied, nowMs);
    const shown = judged.filter(({ isDeleted }) => isDeleted || request.deletedOnly !== true);
    if (order.descending) shown.reverse();
    const [last] = after ?? [];
    const from = last === undefined ? 0 : shown.findIndex(({ tag }) => (order.descending ? tag.name < last : tag.name > last));
    const some = from === -1 ? [] : shown.slice(from + skip, from + skip + limit);
    const records = some.map(({ tag, isDeleted, reason, rule }) => ({
      key: [tag.name],
      record: { tag: tag.name, digest: tag.digest, deleted: isDeleted, reason, tagUid: tag.uid, ...(rule ? { ruleUid: rule.uid } : {}) },
    }));
    return pageOf(page, records, shown.length);
  });
};

export const retentionRule = resource({
  service: "gantry.registry.v1.RetentionRulesService",
  message: "gantry.registry.v1.RetentionRule",
  table: "retention_rules",
  rules,
  methods: { PreviewRetentionRules: { reads: preview } },
});
