// A rule that makes the tags with matching names immutable, in a repo or in all repos below a group (tags/immutable-tags.ts).

import { missing, quotaExceeded, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { compilePattern } from "#base/pattern.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { boundOf, change, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { countImmutableTagRules } from "#registry/store";
import { lockRow } from "#db";

const patternProblem = (pattern: string): string | undefined => {
  if (patternCost(pattern) > limits.immutableTagCostMax) return "is too complex: use shorter repetitions, or several rules";
  if (!compilePattern(pattern)) return "must be an RE2 pattern that matches the whole name of a tag, for example v[0-9]+[.].*";
  return undefined;
};

const rules = async (draft: JsonObject, { before, rows, parent }: RuleContext): Promise<Violation[]> => {
  const problem = patternProblem(text(draft, "pattern"));
  if (problem !== undefined) return [{ field: "pattern", description: problem }];
  if (!before && (await countImmutableTagRules(rows, parent)) >= limits.immutableTagRulesEach)
    throw quotaExceeded(
      `${parent} has ${limits.immutableTagRulesEach} immutable tag rules: combine or delete some of them`,
      `parent:${parent}`,
      `immutable tag rules: at most ${limits.immutableTagRulesEach} in one repo or group`,
    );
  return [];
};

/** Locks the repo or group, so that concurrent creations are counted. */
const createRule = async (context: WriteContext): Promise<Outcome> => {
  const { rows, request } = context;
  const parent = text(request, "parent");
  const found = boundOf(context, "gantry.registry.v1.ImmutableTagRule");
  const isHeld =
    (await lockRow(rows, { name: "groups", columns: ["uid"] }, parent)) !== undefined ||
    (await lockRow(rows, { name: "repos", columns: ["uid"] }, parent)) !== undefined;
  if (!isHeld) throw missing("iam", "Group", parent);
  const { record } = await change(context, found, { kind: "create", parent, body: part(request, "immutableTagRule") }, "cause");
  return { reply: record };
};

export const immutableTagRule = resource({
  service: "gantry.registry.v1.ImmutableTagRulesService",
  message: "gantry.registry.v1.ImmutableTagRule",
  table: "immutable_tag_rules",
  rules,
  methods: { CreateImmutableTagRule: { writes: createRule } },
});
