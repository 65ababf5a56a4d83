// The content of an event of an authored advisory, and its rules (decision 0089). Pure.

import type { Violation } from "#base/fault.ts";
import { isObject, type JsonObject, part, text, texts } from "#base/json.ts";
import { approvedState } from "./authoring.ts";

export const pendingState = "REVIEW_STATE_PENDING";

/** A change of these fields needs a new review. */
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
  "componentLocationChanged",
] as const;
const typeFields = contentFields.slice(2);

export const isContentChanged = (draft: JsonObject, before: JsonObject): boolean =>
  contentFields.some((field) => JSON.stringify(draft[field]) !== JSON.stringify(before[field]));

/** Returns the review state; "" if unspecified. */
export const reviewStateOf = (event: JsonObject | undefined): string => {
  const state = text(event ?? {}, "reviewState");
  return state === "REVIEW_STATE_UNSPECIFIED" ? "" : state;
};

/** Returns the violations of an event's content and, for a new event, of its review state. */
export const eventViolations = (draft: JsonObject, isNew: boolean): Violation[] => {
  const out: Violation[] = [];
  // An empty message counts, too.
  if (!typeFields.some((field) => isObject(draft[field]))) out.push({ field: "detection", description: `${typeFields.join(" or ")} is required` });
  const reason = text(part(draft, "falsePositiveDetermination"), "type");
  if (isObject(draft.falsePositiveDetermination) && (reason === "" || reason === "TYPE_UNSPECIFIED"))
    out.push({ field: "falsePositiveDetermination.type", description: "type must say why the vulnerability does not apply" });
  if (isObject(draft.fixed) && text(part(draft, "fixed"), "fixedVersion") === "")
    out.push({ field: "fixed.fixedVersion", description: "fixedVersion must name the first version without the vulnerability" });
  const patched = texts(part(draft, "patched"), "patchedVersions");
  if (isObject(draft.patched) && (patched.length === 0 || patched.includes("")))
    out.push({ field: "patched.patchedVersions", description: "patchedVersions must name the versions that carry the patch" });
  if (isObject(draft.componentLocationChanged) && text(part(draft, "componentLocationChanged"), "newLocation") === "")
    out.push({ field: "componentLocationChanged.newLocation", description: "newLocation must name the path after the change" });
  if (isNew && !["", pendingState, approvedState].includes(reviewStateOf(draft)))
    out.push({ field: "reviewState", description: "reviewState of a new event must be pending" });
  return out;
};
