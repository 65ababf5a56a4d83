// A rule that attaches an SBOM to each image of a repo, or of all repos below a group (server/application/attached-sboms.ts).

import { missing, quotaExceeded, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { boundOf, change, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { countSbomRules } from "#registry/store";
import { lockRow } from "#db";

const rules = async (_draft: JsonObject, { before, rows, parent }: RuleContext): Promise<Violation[]> => {
  if (!before && (await countSbomRules(rows, parent)) >= limits.sbomRulesEach)
    throw quotaExceeded(
      `${parent} has ${limits.sbomRulesEach} SBOM rules: one is enough, delete the others`,
      `parent:${parent}`,
      `SBOM rules: at most ${limits.sbomRulesEach} in one repo or group`,
    );
  return [];
};

/** Locks the repo or group, so that concurrent creations are counted. */
const createRule = async (context: WriteContext): Promise<Outcome> => {
  const { rows, request } = context;
  const parent = text(request, "parent");
  const found = boundOf(context, "gantry.registry.v1.SbomRule");
  const isHeld =
    (await lockRow(rows, { name: "groups", columns: ["uid"] }, parent)) !== undefined ||
    (await lockRow(rows, { name: "repos", columns: ["uid"] }, parent)) !== undefined;
  if (!isHeld) throw missing("iam", "Group", parent);
  const { record } = await change(context, found, { kind: "create", parent, body: part(request, "sbomRule") }, "cause");
  return { reply: record };
};

export const sbomRule = resource({
  service: "gantry.registry.v1.SbomRulesService",
  message: "gantry.registry.v1.SbomRule",
  table: "sbom_rules",
  rules,
  methods: { CreateSbomRule: { writes: createRule } },
});
