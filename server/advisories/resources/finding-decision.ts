// A decision of an organization about findings (docs/decisions/0090). Matching writes the decision that counts to each finding
// (server/advisories/feeds/counting-decisions.ts).

import { quotaExceeded, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { covers, parentOf, rootOf } from "#base/uid.ts";
import { likePattern } from "#base/wildcards.ts";
import { boundOf, type ChangeContext, create, get, list, type Outcome, type ReadContext, resource, type RuleContext, type WriteContext } from "#kernel";
import { countDecidedFindings, countFindingDecisions, findOutdatedDecisions, lockFindingDecisions, noteDecisionBasis } from "#advisories/store";
import { findRow } from "#db";
import { exportDecisions } from "./decisions/export.ts";
import { authorOf } from "./rules/authoring.ts";

const message = "gantry.decisions.v1.FindingDecision";
const acceptedState = "FINDING_DECISION_STATE_ACCEPTED";
const notAffectedState = "FINDING_DECISION_STATE_NOT_AFFECTED";

const givenEnum = (draft: JsonObject, name: string): string => {
  const value = text(draft, name);
  return value.endsWith("_UNSPECIFIED") ? "" : value;
};

const contentViolations = (draft: JsonObject, nowMs: number): Violation[] => {
  const out: Violation[] = [];
  const [state, justification, expireTime] = [givenEnum(draft, "state"), givenEnum(draft, "justification"), text(draft, "expireTime")];
  if (state === notAffectedState && justification === "")
    out.push({ field: "justification", description: "required for NOT_AFFECTED, such as VULNERABLE_CODE_NOT_PRESENT" });
  if (state !== notAffectedState && justification !== "") out.push({ field: "justification", description: "must be absent unless the state is NOT_AFFECTED" });
  if (state === acceptedState && expireTime === "") out.push({ field: "expireTime", description: "required for ACCEPTED" });
  const untilMs = expireTime === "" ? undefined : Date.parse(expireTime);
  if (untilMs !== undefined && untilMs <= nowMs) out.push({ field: "expireTime", description: "must be in the future" });
  if (untilMs !== undefined && untilMs > nowMs + limits.decisionMsMax)
    out.push({ field: "expireTime", description: `must be at most ${limits.decisionMsMax / 86_400_000} days from now` });
  return out;
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { rows, parent, nowMs } = context;
  if (context.isUndelete) return [];
  draft.author = authorOf(context);
  const violations = contentViolations(draft, nowMs);
  const repo = text(draft, "repoUid");
  if (repo !== "" && !(covers(parent, repo) && (await findRow(rows, { name: "repos", columns: ["uid"] }, repo))))
    violations.push({ field: "repoUid", description: "must be the uid of a repo below the group" });
  if (violations.length > 0) return violations;
  const organization = rootOf(parent);
  await lockFindingDecisions(rows, organization);
  if ((await countFindingDecisions(rows, organization)) >= limits.findingDecisionsEach)
    throw quotaExceeded(
      `The organization has ${limits.findingDecisionsEach} decisions about findings: delete some of them`,
      `organization:${organization}`,
      `decisions about findings: at most ${limits.findingDecisionsEach} in one organization`,
    );
  return [];
};

const keepHistory = async (
  { rows }: ChangeContext,
  { before, after }: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
): Promise<void> => {
  if (after && !before) await noteDecisionBasis(rows, text(after, "uid"), text(after, "vulnerability"), limits.suppressedAdvisoriesMax);
};

const createDecision = async (context: WriteContext): Promise<Outcome> => {
  const outcome = await create(boundOf(context, message))(context);
  const { reply } = outcome;
  const scope = {
    vulnerability: text(reply, "vulnerability"),
    packageName: text(reply, "packageName"),
    repoUid: text(reply, "repoUid"),
    digest: text(reply, "digest"),
    tagPattern: text(reply, "tagPattern"),
  };
  const findingCount = await countDecidedFindings(context.rows, parentOf(text(reply, "uid")), scope, likePattern(scope.tagPattern));
  return { ...outcome, reply: { ...reply, ...(findingCount === 0 ? {} : { findingCount }) } };
};

const withReopened = async ({ rows, nowMs }: ReadContext, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  const isExpired = (record: JsonObject): boolean => text(record, "expireTime") !== "" && Date.parse(text(record, "expireTime")) <= nowMs;
  const outdated = await findOutdatedDecisions(
    rows,
    records.map((record) => text(record, "uid")),
  );
  return records.map((record) => {
    if (isExpired(record)) return { ...record, reopened: "FINDING_DECISION_REOPENING_EXPIRED" };
    return outdated.has(text(record, "uid")) ? { ...record, reopened: "FINDING_DECISION_REOPENING_ADVISORY_CHANGED" } : record;
  });
};

const getDecision = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await get(boundOf(context, message))(context);
  return { ...outcome, reply: (await withReopened(context, [outcome.reply]))[0] ?? outcome.reply };
};

const listDecisions = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await list(boundOf(context, message))(context);
  return { ...outcome, reply: { ...outcome.reply, findingDecisions: await withReopened(context, objectList(outcome.reply, "findingDecisions")) } };
};

export const findingDecision = resource({
  service: "gantry.decisions.v1.DecisionsService",
  message,
  table: "finding_decisions",
  rules,
  keepHistory,
  methodFields: ["reopened", "finding_count"],
  methods: {
    CreateFindingDecision: { writes: createDecision },
    GetFindingDecision: { reads: getDecision },
    ListFindingDecisions: { reads: listDecisions },
    ExportFindingDecisions: { reads: exportDecisions },
  },
});
