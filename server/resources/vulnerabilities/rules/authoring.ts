// What follows from a change of an authored advisory or of one of its events (docs/decisions/0089): its approved state becomes a record
// beside those that are imported, and matches that an approved false positive suppresses are looked at again.

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
  type Read,
  withdrawAdvisories,
  type Write,
  writeAuthoredRecord,
} from "#store";

export const approvedState = "REVIEW_STATE_APPROVED";

type Calling = Pick<ChangeContext, "caller">;

/** The identity that authors. Commands and the server by itself author nothing. */
export const authorOf = ({ caller }: Calling): string => {
  if (!caller) throw denied("Permission denied: an advisory has an author, and nobody is signed in");
  return caller.uid;
};

/** The upstream token behind the caller; "" where there is none. */
export const actOf = ({ caller }: Calling): string => (caller?.act ? JSON.stringify([caller.act.iss ?? "", caller.act.sub ?? ""]) : "");

/** Whether the caller is this author, or signed in as the same upstream subject. */
export const isAuthor = (context: Calling, { author, authorAct }: { readonly author: string; readonly authorAct: string }): boolean =>
  author === authorOf(context) || (authorAct !== "" && authorAct === actOf(context));

const isApproved = ({ reviewState }: AuthoredEvent): boolean => reviewState === approvedState;

/** Approved events take effect in the order of their approval. */
export const approvedOf = (events: readonly AuthoredEvent[]): AuthoredEvent[] => {
  const keyOf = ({ reviewTime, uid }: AuthoredEvent): string => `${reviewTime ?? ""} ${uid}`;
  return events.filter(isApproved).sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
};

/** An event in the shape of AdvisoryEvent. */
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

/** Advisories with all of their events, approved or not, where an organization writes them. */
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

/** What the last decision suppresses, if it is a false positive. A version that is fixed is no decision about the others. */
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

/** Has the images of the organization matched with what is known of the package, under the spellings that images may have. */
const matchPackage = async (rows: Write, uid: string, { artifactType, artifactName }: Artifact): Promise<void> => {
  for (const name of new Set([artifactName, packageNameKeyOfType(artifactType, artifactName)])) await addPackageToMatch(rows, rootOf(uid), name);
};

/** Writes the record that outputs, lists and matching read. The advisory's row is locked first, so that the last change sees all others. */
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
    // As images and imported records name the package.
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

/** Notes what the reviewer of an approved event saw of other sources. */
export const noteReviewed = async ({ rows }: Pick<ChangeContext, "rows">, { artifactType, aliases }: AuthoredAdvisory, eventUid: string): Promise<void> => {
  const basis = await findFingerprints(rows, rootOf(eventUid), artifactType, aliases, limits.suppressedAdvisoriesMax);
  await noteBasis(rows, eventUid, basis);
};

/** Withdraws the record of an advisory that is deleted. */
export const withdrawAuthored = async ({ rows, nowMs }: Pick<ChangeContext, "rows" | "nowMs">, uid: string, advisory: Artifact): Promise<void> => {
  await withdrawAdvisories(rows, [uid], nowMs);
  await matchPackage(rows, uid, advisory);
};
