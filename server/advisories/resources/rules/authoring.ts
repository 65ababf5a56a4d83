// Effects of a change to an authored advisory or its events (docs/decisions/0089): its approved state becomes a record like imported
// ones, and affected matches are recomputed.

import { denied } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { parentOf, rootOf } from "#base/uid.ts";
import { packageNameKeyOfType } from "#base/versions/package-name.ts";
import type { ChangeContext } from "#kernel";
import {
  addPackageToMatch,
  type AuthoredAdvisory,
  type AuthoredEvent,
  findAuthoredEvents,
  findFingerprints,
  lockAuthoredAdvisory,
  noteBasis,
  noteSuppression,
  withdrawAdvisories,
  writeAuthoredRecord,
} from "#advisories/store";
import type { Read, Write } from "#db";

export const approvedState = "REVIEW_STATE_APPROVED";

type Calling = Pick<ChangeContext, "caller">;

/** Returns the author; throws PERMISSION_DENIED without a caller. Commands and the server author nothing. */
export const authorOf = ({ caller }: Calling): string => {
  if (!caller) throw denied("Permission denied: an advisory has an author, and nobody is signed in");
  return caller.uid;
};

/** Returns the caller's upstream token subject; "" without one. */
export const actOf = ({ caller }: Calling): string => (caller?.act ? JSON.stringify([caller.act.iss ?? "", caller.act.sub ?? ""]) : "");

/** True if the caller is this author, or has the same upstream subject. */
export const isAuthor = (context: Calling, { author, authorAct }: { readonly author: string; readonly authorAct: string }): boolean =>
  author === authorOf(context) || (authorAct !== "" && authorAct === actOf(context));

const isApproved = ({ reviewState }: AuthoredEvent): boolean => reviewState === approvedState;

/** Returns approved events in order of approval, which is the order of effect. */
export const approvedOf = (events: readonly AuthoredEvent[]): AuthoredEvent[] => {
  const keyOf = ({ reviewTime, uid }: AuthoredEvent): string => `${reviewTime ?? ""} ${uid}`;
  return events.filter(isApproved).sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
};

/** Converts an event to AdvisoryEvent. */
export const eventMessage = ({ uid, createTime, findings, author, reviewer, reviewState, issue, data }: AuthoredEvent) => ({
  uid,
  createTime,
  ...(findings === "" ? {} : { findings }),
  author,
  ...(reviewer === "" ? {} : { reviewer }),
  reviewState,
  ...(issue === "" ? {} : { issue }),
  ...data,
});

/** Adds all events, approved or not, to authored advisories. */
export const withAuthoredEvents = async (rows: Read, advisories: readonly JsonObject[]): Promise<JsonObject[]> => {
  const found = await findAuthoredEvents(
    rows,
    advisories.map((advisory) => text(advisory, "uid")),
  );
  if (found.length === 0) return [...advisories];
  const byAdvisory = Map.groupBy(found, ({ uid }) => parentOf(uid));
  return advisories.map((advisory) => {
    const events = byAdvisory.get(text(advisory, "uid"));
    return events ? { ...advisory, events: events.map(eventMessage) } : advisory;
  });
};

/** Event types that neither confirm nor deny that the vulnerability applies. */
const undecided = new Set(["detection", "fixed", "componentLocationChanged"]);

/** Returns the suppression if the last decision is a false positive. A fixed version decides nothing about others. */
const suppressionOf = (approved: readonly AuthoredEvent[]): JsonObject | undefined => {
  const last = approved.findLast(({ data }) => !Object.keys(data).every((member) => undecided.has(member)));
  if (!last) return undefined;
  const determination = last.data.falsePositiveDetermination;
  if (determination === undefined) return undefined;
  const stated = part(last.data, "falsePositiveDetermination");
  return {
    eventUid: last.uid,
    author: last.author,
    reviewer: last.reviewer,
    type: text(stated, "type"),
    note: text(stated, "note"),
    reviewTime: last.reviewTime ?? "",
    basis: last.basis ?? {},
  };
};

type Artifact = Pick<AuthoredAdvisory, "artifactType" | "artifactName">;

/** Queues the package for matching with the organization's images, in all spellings. */
const matchPackage = async (rows: Write, uid: string, { artifactType, artifactName }: Artifact): Promise<void> => {
  for (const name of new Set([artifactName, packageNameKeyOfType(artifactType, artifactName)])) await addPackageToMatch(rows, rootOf(uid), name);
};

/** Writes the record for outputs, lists and matching. Locks the advisory's row first, so that the last change sees all others. */
export const projectAdvisory = async (context: Pick<ChangeContext, "rows" | "nowMs">, uid: string): Promise<void> => {
  const { rows, nowMs } = context;
  const advisory = await lockAuthoredAdvisory(rows, uid);
  if (!advisory) return;
  const events = await findAuthoredEvents(rows, [uid]);
  const approved = approvedOf(events);
  const { advisoryId, author, artifactName, artifactType, artifactArchitecture, componentName, componentLocation, componentType, aliases } = advisory;
  const record = {
    kind: "advisory" as const,
    advisoryId,
    author,
    // The same form as in images and imported records.
    artifactName: packageNameKeyOfType(artifactType, artifactName),
    artifactType,
    artifactArchitecture,
    componentName,
    componentLocation,
    componentType,
    aliases,
    namespace: advisory.distribution,
  };
  await noteSuppression(rows, uid, suppressionOf(approved));
  await writeAuthoredRecord(rows, { uid, record, approved: approved.map(eventMessage), all: events.map(eventMessage) }, nowMs);
  if (approved.length > 0) await matchPackage(rows, uid, advisory);
};

/** Records the state of other sources at the time of the review. */
export const noteReviewed = async ({ rows }: Pick<ChangeContext, "rows">, { artifactType, aliases }: AuthoredAdvisory, eventUid: string): Promise<void> => {
  const basis = await findFingerprints(rows, rootOf(eventUid), artifactType, aliases, limits.suppressedAdvisoriesMax);
  await noteBasis(rows, eventUid, basis);
};

export const withdrawAuthored = async ({ rows, nowMs }: Pick<ChangeContext, "rows" | "nowMs">, uid: string, advisory: Artifact): Promise<void> => {
  await withdrawAdvisories(rows, [uid], nowMs);
  await matchPackage(rows, uid, advisory);
};
