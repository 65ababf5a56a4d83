// An advisory by an organization about its own artifact (docs/decisions/0089). Its approved state becomes a record like imported ones.

import { blocked, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { newChild, rootOf } from "#base/uid.ts";
import { boundOf, change, type ChangeContext, create, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { findAuthoredEvents, noteAuthor } from "#advisories/store";
import { allocateNumber } from "./rules/advisory-number.ts";
import { actOf, approvedState, authorOf, projectAdvisory, withAuthoredEvents, withdrawAuthored } from "./rules/authoring.ts";
import { eventViolations } from "./rules/event-content.ts";

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

/** Returns the violations of the initial events, each with its path. */
const initialViolations = (draft: JsonObject): Violation[] =>
  objectList(draft, "initialEvents").flatMap((event, index) =>
    eventViolations(event, true).map(({ field, description }) => ({ field: `initialEvents[${index}].${field}`, description })),
  );

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before, rows, parent } = context;
  if (context.isUndelete) return [];
  const violations = before ? [] : initialViolations(draft);
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

/** Creates the advisory, and its initial events by the rules of CreateAuthoredAdvisoryEvent. */
const createAdvisory = async (context: WriteContext): Promise<Outcome> => {
  const outcome = await create(boundOf(context, "gantry.vulnerabilities.v1.AuthoredAdvisory"))(context);
  const events = objectList(part(context.request, "authoredAdvisory"), "initialEvents");
  if (events.length === 0) return outcome;
  const uid = text(outcome.reply, "uid");
  const event = boundOf(context, "gantry.vulnerabilities.v1.AuthoredAdvisoryEvent");
  // Events of the same time are listed by uid: sorted uids keep the order of the request.
  const uids = events.map(() => newChild(uid)).sort();
  for (const [index, body] of events.entries()) await change(context, event, { kind: "create", parent: uid, uid: uids[index] ?? "", body }, "row");
  return { ...outcome, reply: (await withAuthoredEvents(context.rows, [outcome.reply]))[0] ?? outcome.reply };
};

export const authoredAdvisory = resource({
  service: "gantry.vulnerabilities.v1.AuthoredAdvisoriesService",
  message: "gantry.vulnerabilities.v1.AuthoredAdvisory",
  table: "authored_advisories",
  sideTables: [{ table: "advisory_suppressions", column: "uid" }],
  rules,
  keepHistory,
  computedFields: { names: ["events"], compute: withAuthoredEvents },
  methods: { CreateAuthoredAdvisory: { writes: createAdvisory } },
});
