// An event of an organization's own advisory (docs/decisions/0089), and its review: an identity other than the author approves it,
// requests changes, or rejects it. Only approved events have an effect.

import { blocked, denied, invalid, missing, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { boundOf, type ChangeContext, lockResource, type Outcome, remove, resource, type RuleContext, type WriteContext } from "#kernel";
import { type AuthoredAdvisory, type AuthoredEvent, findAuthoredEvents, findAuthorApproval, lockAuthoredAdvisory, noteAuthor } from "#advisories/store";
import { actOf, approvedState, authorOf, isAuthor, noteReviewed, projectAdvisory } from "./rules/authoring.ts";
import { eventViolations, isContentChanged, pendingState, reviewStateOf } from "./rules/event-content.ts";

const finalStates = new Set([approvedState, "REVIEW_STATE_REJECTED"]);

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
  context.require(["advisories.approve"], uid);
  if (!(await findAuthorApproval(rows, rootOf(uid))))
    throw denied("Permission denied: the author cannot approve an advisory: another identity with advisories.approve must");
  noteReview(draft, context, events);
};

const updateRules = async (draft: JsonObject, before: JsonObject, context: RuleContext): Promise<void> => {
  const uid = text(before, "uid");
  const changed = isContentChanged(draft, before);
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
  const violations = eventViolations(draft, before === undefined);
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
  if (!before || isContentChanged(after, before)) await noteAuthor(context.rows, "authored_advisory_events", uid, actOf(context));
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
