// A decision of an organization about findings (docs/decisions/0090). Matching writes the decision that counts to each finding
// (server/advisories/feeds/counting-decisions.ts).

import { blocked, denied, missing, quotaExceeded, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { covers, parentOf, rootOf } from "#base/uid.ts";
import { likePattern } from "#base/wildcards.ts";
import {
  boundOf,
  change,
  type ChangeContext,
  create,
  get,
  list,
  lockResource,
  type Outcome,
  type ReadContext,
  resource,
  type RuleContext,
  type WriteContext,
} from "#kernel";
import {
  countDecidedFindings,
  countFindingDecisions,
  findAuthorMarks,
  findOutdatedDecisions,
  lockFindingDecisions,
  noteAuthorMarks,
  noteDecisionBasis,
  pendingDecision,
  requiresApproval,
} from "#advisories/store";
import { findRow } from "#db";
import { exportDecisions } from "./decisions/export.ts";
import { authorOf } from "./rules/authoring.ts";
import { personMarks } from "./rules/person-marks.ts";

const message = "gantry.decisions.v1.FindingDecision";
const acceptedState = "FINDING_DECISION_STATE_ACCEPTED";
const notAffectedState = "FINDING_DECISION_STATE_NOT_AFFECTED";
const underInvestigationState = "FINDING_DECISION_STATE_UNDER_INVESTIGATION";
const approvedState = "FINDING_DECISION_APPROVAL_STATE_APPROVED";
const notRequiredState = "FINDING_DECISION_APPROVAL_STATE_NOT_REQUIRED";

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

/** Makes the decision pending if a policy requires its approval, also if it was approved before a deletion. */
const requireApproval = async (draft: JsonObject, { rows, parent }: RuleContext): Promise<void> => {
  if (text(draft, "state") === underInvestigationState || !(await requiresApproval(rows, parent))) return;
  draft.approvalState = pendingDecision;
  delete draft.approver;
  delete draft.approveTime;
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { rows, parent, nowMs } = context;
  // An approval.
  if (context.before) return [];
  if (context.isUndelete) {
    await lockFindingDecisions(rows, rootOf(parent));
    await requireApproval(draft, context);
    return [];
  }
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
  draft.approvalState = notRequiredState;
  await requireApproval(draft, context);
  return [];
};

const keepHistory = async (
  context: ChangeContext,
  { before, after }: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
): Promise<void> => {
  if (!after || before) return;
  const { caller, rows } = context;
  if (text(after, "author") === caller?.uid) await noteAuthorMarks(rows, text(after, "uid"), await personMarks(context));
  await noteDecisionBasis(rows, text(after, "uid"), text(after, "vulnerability"), limits.suppressedAdvisoriesMax);
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

const hasExpired = (record: JsonObject, nowMs: number): boolean => text(record, "expireTime") !== "" && Date.parse(text(record, "expireTime")) <= nowMs;

const withReopened = async ({ rows, nowMs }: ReadContext, records: readonly JsonObject[]): Promise<JsonObject[]> => {
  const outdated = await findOutdatedDecisions(
    rows,
    records.map((record) => text(record, "uid")),
  );
  return records.map((record) => {
    if (hasExpired(record, nowMs)) return { ...record, reopened: "FINDING_DECISION_REOPENING_EXPIRED" };
    return outdated.has(text(record, "uid")) ? { ...record, reopened: "FINDING_DECISION_REOPENING_ADVISORY_CHANGED" } : record;
  });
};

const requireOtherPerson = async (context: WriteContext, decision: JsonObject): Promise<void> => {
  const author = new Set([text(decision, "author"), ...(await findAuthorMarks(context.rows, text(decision, "uid")))]);
  if ((await personMarks(context)).some((mark) => author.has(mark)))
    throw denied("Permission denied: the author cannot approve a decision: another user with gantry.findings.decide must");
};

const approveDecision = async (context: WriteContext): Promise<Outcome> => {
  const { request, nowMs } = context;
  const found = boundOf(context, message);
  const uid = text(request, "uid");
  const before = await lockResource(context, found, uid);
  if (!before) throw missing(found.domain, found.fact.short, uid);
  const held = text(before, "approvalState");
  if (held !== pendingDecision && held !== approvedState) throw blocked("NO_APPROVAL_REQUIRED", uid, ["the decision needs no approval: it counts already"]);
  await requireOtherPerson(context, before);
  if (held === approvedState) return { reply: (await withReopened(context, [before]))[0] ?? before, unchanged: true };
  if (hasExpired(before, nowMs)) throw blocked("DECISION_EXPIRED", uid, ["the decision has expired (expireTime): create another one"]);
  const draft = { ...before, approvalState: approvedState, approver: authorOf(context), approveTime: timestamp(nowMs) };
  const { record } = await change(context, found, { kind: "update", before, draft }, "cause");
  return { reply: (await withReopened(context, [record]))[0] ?? record };
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
    ApproveFindingDecision: { writes: approveDecision },
    ExportFindingDecisions: { reads: exportDecisions },
  },
});
