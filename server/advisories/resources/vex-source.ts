// A trusted source of VEX: a public key whose signatures on statements about images count (store/vex-sources.ts).

import { quotaExceeded, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { covers, rootOf } from "#base/uid.ts";
import { resource, type RuleContext } from "#kernel";
import { readPublicKey } from "#advisories/feeds";
import { countVexSources, lockVexSources, requiresApproval } from "#advisories/store";
import { findRow } from "#db";

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { rows, parent, isUndelete } = context;
  const organization = rootOf(parent);
  // Statements of a source suppress findings without an approval, so that a decider could avoid one with a key of their own.
  if (await requiresApproval(rows, parent)) context.require(["gantry.findings.require_approval"], parent);
  // Also for a restored source: documents are read with the sources of their time.
  await lockVexSources(rows, organization);
  if (isUndelete) return [];
  const violations: Violation[] = [];
  const key = readPublicKey(text(draft, "publicKey"));
  if ("problem" in key) violations.push({ field: "publicKey", description: key.problem });
  else {
    draft.publicKey = key.pem;
    draft.keyFingerprint = key.fingerprint;
  }
  const repo = text(draft, "repoUid");
  if (repo !== "" && !(covers(parent, repo) && (await findRow(rows, { name: "repos", columns: ["uid"] }, repo))))
    violations.push({ field: "repoUid", description: "must be the uid of a repo below the group" });
  if (violations.length > 0) return violations;
  if ((await countVexSources(rows, organization)) >= limits.vexSourcesEach)
    throw quotaExceeded(
      `The organization has ${limits.vexSourcesEach} trusted sources of VEX: delete some of them`,
      `organization:${organization}`,
      `trusted sources of VEX: at most ${limits.vexSourcesEach} in one organization`,
    );
  return [];
};

export const vexSource = resource({
  service: "gantry.findings.v1.VexSourcesService",
  message: "gantry.findings.v1.VexSource",
  table: "vex_sources",
  rules,
});
