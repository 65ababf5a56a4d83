// Decisions about findings (docs/decisions/0090): which decision counts for a finding. Matching writes it to the finding's row.

import type { JsonObject } from "#base/json.ts";
import { covers, parentOf } from "#base/uid.ts";
import { matchesWildcards } from "#base/wildcards.ts";
import {
  type DecisionScope,
  findBasedDecisions,
  findFindingDecisions,
  type FindingDecision,
  type MatchableAdvisory,
  type TaggedImage,
} from "#advisories/store";
import type { Read } from "#db";

/** The part of a finding that scopes refer to. */
export interface DecidedFinding {
  readonly image: Pick<TaggedImage, "owner" | "repoUid" | "digest">;
  readonly packageName: string;
  readonly tags: Iterable<string>;
}

/** All tags must match: a further tag must not hide an image that others run by another one. */
const isInScope = ({ uid, packageName, repoUid, digest, tagPattern }: FindingDecision, { image, packageName: name, tags }: DecidedFinding): boolean =>
  covers(parentOf(uid), image.owner) &&
  (packageName === "" || packageName === name) &&
  (repoUid === "" || repoUid === image.repoUid) &&
  (digest === "" || digest === image.digest) &&
  (tagPattern === "" || [...tags].every((tag) => matchesWildcards(tagPattern, tag)));

const conditionsOf = ({ packageName, repoUid, digest, tagPattern }: DecisionScope): number =>
  [packageName, repoUid, digest, tagPattern].filter((each) => each !== "").length;

/** Sorts the decision that counts first: the nearest group, then more conditions, then the latest. */
const compareDecisions = (one: FindingDecision, other: FindingDecision): number => {
  if (one.uid.length !== other.uid.length) return other.uid.length - one.uid.length;
  const more = conditionsOf(other) - conditionsOf(one);
  if (more !== 0) return more;
  return `${one.createTime} ${one.uid}` < `${other.createTime} ${other.uid}` ? 1 : -1;
};

/** The decisions about an advisory, in the order in which they count. */
export type DecisionsOf = (advisory: MatchableAdvisory) => readonly FindingDecision[];

/** Reads which decisions count for the advisories: those about their present content that have not expired. */
export const openDecisions = async (rows: Read, root: string, nowMs: number): Promise<(advisories: readonly MatchableAdvisory[]) => Promise<DecisionsOf>> => {
  const all = (await findFindingDecisions(rows, root, nowMs)).sort(compareDecisions);
  const byVulnerability = Map.groupBy(all, ({ vulnerability }) => vulnerability);
  const about = ({ advisoryId, aliases }: MatchableAdvisory): readonly FindingDecision[] =>
    byVulnerability.size === 0 ? none : [...new Set([advisoryId, ...aliases])].flatMap((id) => byVulnerability.get(id) ?? none);
  return async (advisories) => {
    const candidates = new Map(advisories.map((advisory) => [advisory.uid, about(advisory)]));
    const decided = [...candidates].flatMap(([uid, found]) => (found.length > 0 ? [uid] : []));
    if (decided.length === 0) return () => none;
    const decisions = new Set([...candidates.values()].flatMap((found) => found.map(({ uid }) => uid)));
    const based = await findBasedDecisions(rows, [...decisions], decided);
    const present = new Set(based.map(({ decision, advisory }) => JSON.stringify([decision, advisory])));
    const counting = new Map(
      [...candidates].map(([uid, found]) => [uid, found.filter((each) => present.has(JSON.stringify([each.uid, uid]))).sort(compareDecisions)]),
    );
    return ({ uid }) => counting.get(uid) ?? none;
  };
};

const none: readonly FindingDecision[] = [];

export const countingDecision = (decisions: readonly FindingDecision[], finding: DecidedFinding): FindingDecision | undefined =>
  decisions.find((each) => isInScope(each, finding));

export const suppresses = ({ state }: FindingDecision): boolean => state !== "FINDING_DECISION_STATE_UNDER_INVESTIGATION";

export const decisionMessage = ({ uid, state, justification, reason, author, expireTime }: FindingDecision): JsonObject => ({
  uid,
  state,
  ...(justification === "" ? {} : { justification }),
  reason,
  author,
  groupUid: parentOf(uid),
  ...(expireTime === undefined ? {} : { expireTime }),
});
