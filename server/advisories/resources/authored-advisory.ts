// An advisory by an organization about its own artifact (docs/decisions/0089). Its approved state becomes a record like imported ones.

import { blocked, type Violation } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import { type ChangeContext, resource, type RuleContext } from "#kernel";
import { findAuthoredEvents, noteAuthor } from "#advisories/store";
import { allocateNumber } from "./rules/advisory-number.ts";
import { actOf, approvedState, authorOf, projectAdvisory, withAuthoredEvents, withdrawAuthored } from "./rules/authoring.ts";

const reviewedFields = [
  "artifactName",
  "artifactType",
  "artifactArchitecture",
  "componentName",
  "componentLocation",
  "componentType",
  "aliases",
  "distribution",
] as const;

const isChanged = (draft: JsonObject, before: JsonObject): boolean =>
  reviewedFields.some((field) => JSON.stringify(draft[field]) !== JSON.stringify(before[field]));

/** Requires an alias: no other source knows the advisory's own ID. */
const violationsOf = (draft: JsonObject): Violation[] =>
  texts(draft, "aliases").length > 0
    ? []
    : [{ field: "aliases", description: "aliases must name the vulnerability: at least one number, such as CVE-2024-0001" }];

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before, rows, parent } = context;
  if (context.isUndelete) return [];
  const violations = violationsOf(draft);
  if (violations.length > 0) return violations;
  if (!before) {
    draft.author = authorOf(context);
    draft.advisoryId = await allocateNumber(rows, rootOf(parent));
    return [];
  }
  if (!isChanged(draft, before)) return [];
  const uid = text(before, "uid");
  const events = await findAuthoredEvents(rows, [uid]);
  if (events.some(({ reviewState }) => reviewState === approvedState))
    throw blocked("ADVISORY_APPROVED", uid, ["cannot change what an approved advisory is about: create another one"]);
  draft.author = authorOf(context);
  return [];
};

const keepHistory = async (
  context: ChangeContext,
  { before, after }: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
): Promise<void> => {
  const uid = text(after ?? before ?? {}, "uid");
  if (!after) return withdrawAuthored(context, uid, { artifactType: text(before ?? {}, "artifactType"), artifactName: text(before ?? {}, "artifactName") });
  if (!before) await noteAuthor(context.rows, "authored_advisories", uid, actOf(context), true);
  else if (isChanged(after, before)) await noteAuthor(context.rows, "authored_advisories", uid, actOf(context));
  await projectAdvisory(context, uid);
};

export const authoredAdvisory = resource({
  service: "gantry.vulnerabilities.v1.AuthoredAdvisoriesService",
  message: "gantry.vulnerabilities.v1.AuthoredAdvisory",
  table: "authored_advisories",
  sideTables: [{ table: "advisory_suppressions", column: "uid" }],
  rules,
  keepHistory,
  computedFields: { names: ["events"], compute: withAuthoredEvents },
});
