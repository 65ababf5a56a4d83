// An event of an organization's own advisory (docs/decisions/0089), and its review: an identity other than the author approves it,
// requests changes, or rejects it. Only approved events have an effect.

import { blocked, denied, invalid, missing, type Violation } from "#base/fault.ts";
import { isObject, type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { boundOf, type ChangeContext, lockResource, type Outcome, remove, resource, type RuleContext, type WriteContext } from "#kernel";
import { type AuthoredAdvisory, type AuthoredEvent, findAuthoredEvents, findAuthorApproval, lockAuthoredAdvisory, noteAuthor } from "#advisories/store";
import { actOf, approvedState, authorOf, isAuthor, noteReviewed, projectAdvisory } from "./rules/authoring.ts";

const pendingState = "REVIEW_STATE_PENDING";
const finalStates = new Set([approvedState, "REVIEW_STATE_REJECTED"]);

const contentFields = [
  "findings",
  "issue",
  "detection",
  "fixed",
  "falsePositiveDetermination",
  "analysisNotPlanned",
  "fixNotPlanned",
  "pendingUpstreamFix",
  "truePositiveDetermination",
  "patched",
] as const;
const typeFields = contentFields.slice(2);

const isChanged = (draft: JsonObject, before: JsonObject): boolean =>
  contentFields.some((field) => JSON.stringify(draft[field]) !== JSON.stringify(before[field]));

const reviewStateOf = (event: JsonObject | undefined): string => {
  const state = text(event ?? {}, "reviewState");
  return state === "REVIEW_STATE_UNSPECIFIED" ? "" : state;
};

const violationsOf = (draft: JsonObject): Violation[] => {
  const out: Violation[] = [];
  // An empty one is a statement too.
  if (!typeFields.some((field) => isObject(draft[field]))) out.push({ field: "detection", description: `${typeFields.join(" or ")} is required` });
  const reason = text(part(draft, "falsePositiveDetermination"), "type");
  if (isObject(draft.falsePositiveDetermination) && (reason === "" || reason === "TYPE_UNSPECIFIED"))
    out.push({ field: "falsePositiveDetermination.type", description: "type must say why the vulnerability does not apply" });
  if (isObject(draft.fixed) && text(part(draft, "fixed"), "fixedVersion") === "")
    out.push({ field: "fixed.fixedVersion", description: "fixedVersion must name the first version without the vulnerability" });
  const patched = texts(part(draft, "patched"), "patchedVersions");
  if (isObject(draft.patched) && (patched.length === 0 || patched.includes("")))
    out.push({ field: "patched.patchedVersions", description: "patchedVersions must name the versions that carry the patch" });
  return out;
};

const requireAdvisory = async ({ rows }: RuleContext, uid: string): Promise<AuthoredAdvisory> => {
  const advisory = await lockAuthoredAdvisory(rows, uid);
  if (!advisory) throw missing("vulnerabilities", "AuthoredAdvisory", uid);
  return advisory;
};

const requireReviewer = async (context: RuleContext, uid: string, advisory: AuthoredAdvisory, events: readonly AuthoredEvent[]): Promise<void> => {
  const { rows } = context;
  context.require(["advisories.approve"], uid);
  if (await findAuthorApproval(rows, rootOf(uid))) return;
  const event = events.find((each) => each.uid === uid);
  // The first event's review covers the advisory itself.
  const isReviewed = events.some(({ reviewState }) => reviewState === approvedState);
  if (event === undefined || isAuthor(context, event) || (!isReviewed && isAuthor(context, advisory)))
    throw denied("Permission denied: the author cannot review an advisory: another identity with advisories.approve must");
};

/** Review times of an advisory are strictly increasing, because the last approved event decides. */
const noteReview = (draft: JsonObject, context: RuleContext, events: readonly AuthoredEvent[]): void => {
  const earlier = events.map(({ reviewTime }) => (reviewTime === undefined ? 0 : Date.parse(reviewTime)));
  draft.reviewer = authorOf(context);
  draft.reviewTime = timestamp(Math.max(context.nowMs, ...earlier.map((time) => time + 1)));
};

const createRules = async (draft: JsonObject, context: RuleContext): Promise<void> => {
  const { rows, parent } = context;
  const uid = text(draft, "uid");
  draft.author = authorOf(context);
  await requireAdvisory(context, parent);
  const events = await findAuthoredEvents(rows, [parent]);
  if (events.length >= limits.authoredEventsMax)
    throw blocked("TOO_MANY_EVENTS", parent, [`cannot add an event: an advisory has ${limits.authoredEventsMax} at most`]);
  const state = reviewStateOf(draft) || pendingState;
  draft.reviewState = state;
  if (state === pendingState) return;
  if (state !== approvedState) throw invalid([{ field: "reviewState", description: "reviewState of a new event must be pending" }]);
  context.require(["advisories.approve"], uid);
  if (!(await findAuthorApproval(rows, rootOf(uid))))
    throw denied("Permission denied: the author cannot approve an advisory: another identity with advisories.approve must");
  noteReview(draft, context, events);
};

const updateRules = async (draft: JsonObject, before: JsonObject, context: RuleContext): Promise<void> => {
  const uid = text(before, "uid");
  const changed = isChanged(draft, before);
  const held = reviewStateOf(before);
  const wanted = reviewStateOf(draft) || held;
  draft.reviewState = wanted;
  if (!changed && wanted === held) return;
  if (finalStates.has(held))
    throw blocked("EVENT_REVIEWED", uid, [`cannot change an event that is ${held === approvedState ? "approved" : "rejected"}: add another one`]);
  const advisory = await requireAdvisory(context, parentOf(uid));
  if (changed) {
    if (wanted !== held && wanted !== pendingState)
      throw invalid([{ field: "reviewState", description: "reviewState must be changed by itself: a review cannot change the event, too" }]);
    draft.author = authorOf(context);
    draft.reviewState = pendingState;
  }
  if (draft.reviewState === pendingState) {
    delete draft.reviewer;
    delete draft.reviewTime;
    return;
  }
  const events = await findAuthoredEvents(context.rows, [advisory.uid]);
  await requireReviewer(context, uid, advisory, events);
  noteReview(draft, context, events);
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before } = context;
  if (context.isUndelete) return [];
  const violations = violationsOf(draft);
  if (violations.length > 0) return violations;
  await (before ? updateRules(draft, before, context) : createRules(draft, context));
  return [];
};

const keepHistory = async (
  context: ChangeContext,
  { before, after }: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
): Promise<void> => {
  if (!after) return projectAdvisory(context, parentOf(text(before ?? {}, "uid")));
  const uid = text(after, "uid");
  const advisory = await lockAuthoredAdvisory(context.rows, parentOf(uid));
  if (!advisory) return;
  if (!before || isChanged(after, before)) await noteAuthor(context.rows, "authored_advisory_events", uid, actOf(context));
  if (reviewStateOf(after) === approvedState && reviewStateOf(before) !== approvedState) await noteReviewed(context, advisory, uid);
  await projectAdvisory(context, advisory.uid);
};

/** Approved events cannot be deleted, only overruled. */
const deleteEvent = async (context: WriteContext): Promise<Outcome> => {
  const event = boundOf(context, "gantry.vulnerabilities.v1.AuthoredAdvisoryEvent");
  const uid = text(context.request, "uid");
  const held = await lockResource(context, event, uid);
  if (reviewStateOf(held) === approvedState) throw blocked("EVENT_REVIEWED", uid, ["cannot delete an event that is approved: add one that overrules it"]);
  return remove(event)(context);
};

export const authoredAdvisoryEvent = resource({
  service: "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService",
  message: "gantry.vulnerabilities.v1.AuthoredAdvisoryEvent",
  table: "authored_advisory_events",
  rules,
  keepHistory,
  methods: { DeleteAuthoredAdvisoryEvent: { writes: deleteEvent } },
});
