// Table finding_decisions: decisions of organizations about findings. The kernel writes its rows, and a trigger queues the packages of
// their advisories for matching, which writes the decisions that count to the findings.

import { columns, expression, nullableText, number, type Read, type RowOf, text, textList, textMap, timeText, type Write } from "#db";
import { fingerprintText } from "./advisories.ts";

/** Which findings a decision is about; empty values match all. */
export interface DecisionScope {
  readonly vulnerability: string;
  readonly packageName: string;
  readonly repoUid: string;
  readonly digest: string;
  readonly tagPattern: string;
}

export type FindingDecision = RowOf<typeof findingDecision>;

const findingDecision = columns({
  uid: text,
  vulnerability: text,
  packageName: text,
  repoUid: text,
  digest: text,
  tagPattern: text,
  state: text,
  justification: text,
  reason: text,
  author: text,
  expireTime: expression(timeText("expire_time"), nullableText),
  createTime: expression(timeText("create_time"), text),
});

export const pendingDecision = "FINDING_DECISION_APPROVAL_STATE_PENDING";

const isCounting = `approval_state <> '${pendingDecision}'`;

/** Excludes expired and pending decisions. */
export const findFindingDecisions = (rows: Read, root: string, nowMs: number): Promise<FindingDecision[]> =>
  findingDecision.find(
    rows,
    `select ${findingDecision.list} from finding_decisions
     where left(uid, 40) = $1 and (expire_time is null or expire_time > $2) and ${isCounting} order by uid`,
    [root, new Date(nowMs).toISOString()],
  );

const basedDecision = columns({ decision: expression("decision.uid", text), advisory: expression("advisory.uid", text) });

/** Returns which of these decisions were made about the present content of these advisories. */
export const findBasedDecisions = (rows: Read, decisions: readonly string[], advisories: readonly string[]): Promise<RowOf<typeof basedDecision>[]> =>
  basedDecision.find(
    rows,
    `select ${basedDecision.list} from (select uid, ${fingerprintText} as fingerprint from advisories where uid = any($2)) as advisory
     join finding_decisions as decision on decision.uid = any($1) and decision.basis ->> advisory.uid = advisory.fingerprint`,
    [decisions, advisories],
  );

/** Stores the fingerprints of the advisories on the vulnerability that the organization sees. A restored decision keeps its own. */
export const noteDecisionBasis = async (rows: Write, uid: string, vulnerability: string, limit: number): Promise<void> => {
  const isSeen = "(public or left(uid, 40) = left($1, 40)) and delete_time is null";
  await rows.query(
    `update finding_decisions set basis = (
       select coalesce(jsonb_object_agg(seen.uid, seen.fingerprint), '{}') from (
         select uid, ${fingerprintText} as fingerprint from advisories where ${isSeen} and aliases ?| array[$2::text]
         union select uid, ${fingerprintText} from advisories where public and ${isSeen} and advisory_id = $2
         union select uid, ${fingerprintText} from advisories where left(uid, 40) = left($1, 40) and ${isSeen} and advisory_id = $2
         limit $3) as seen)
     where uid = $1 and basis is null`,
    [uid, vulnerability, limit],
  );
};

const decisionBasis = columns({ uid: text, basis: textMap });

/** Returns which of these decisions are about an advisory that has changed since. */
export const findOutdatedDecisions = async (rows: Read, uids: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = await decisionBasis.find(
    rows,
    `select ${decisionBasis.list} from finding_decisions where uid = any($1) and exists (
       select from jsonb_each_text(basis) as seen(advisory, noted)
       where noted is distinct from (select ${fingerprintText} from advisories where uid = seen.advisory and delete_time is null))`,
    [uids],
  );
  return new Set(found.map(({ uid }) => uid));
};

/** Serializes creations of decisions and approval policies of an organization until the transaction ends. */
export const lockFindingDecisions = async (rows: Write, root: string): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock(730141295, hashtext($1))", [root]);
};

const authorMarks = columns({ authorMarks: textList });

/** Records by what the author could act. A restored decision keeps its own. */
export const noteAuthorMarks = async (rows: Write, uid: string, marks: readonly string[]): Promise<void> => {
  await rows.query("update finding_decisions set author_marks = $2 where uid = $1 and author_marks is null", [uid, JSON.stringify(marks)]);
};

export const findAuthorMarks = async (rows: Read, uid: string): Promise<readonly string[]> =>
  (await authorMarks.findOne(rows, `select ${authorMarks.list} from finding_decisions where uid = $1 and author_marks is not null`, [uid]))?.authorMarks ?? [];

const counted = columns({ count: expression("count(*)", number) });

export const countFindingDecisions = async (rows: Read, root: string): Promise<number> =>
  (await counted.findOne(rows, `select ${counted.list} from finding_decisions where left(uid, 40) = $1`, [root]))?.count ?? 0;

/** Returns the number of unresolved findings that a decision of this group matches. `tags` is a LIKE pattern; "" matches all. */
export const countDecidedFindings = async (
  rows: Read,
  group: string,
  { vulnerability, packageName, repoUid, digest }: DecisionScope,
  tags: string,
): Promise<number> =>
  (
    await counted.findOne(
      rows,
      `select ${counted.list} from affected_images where advisory_ids ?| array[$2::text] and uid > $1 || '/' and uid < $1 || '0' and end_time is null
         and $3 in ('', package_name) and $4 in ('', repo_uid) and $5 in ('', digest)
         and ($6 = '' or not exists (select from jsonb_array_elements_text(tags) as tag(name) where tag.name not like $6))`,
      [group, vulnerability, packageName, repoUid, digest, tags],
    )
  )?.count ?? 0;

// ---- events of expiries -------------------------------------------------------------------------------------------------

/** "expiring": before the expiry. "expired": from the expiry on. */
export type DecisionExpiry = "expiring" | "expired";

export type EndingDecision = RowOf<typeof endingDecision>;

const endingDecision = columns({ uid: text, vulnerability: text, state: text, expireTime: expression(timeText("expire_time"), text) });

const endingRoot = columns({ root: expression("left(uid, 40)", text) });

/** Returns organizations with a decision that expires before this time and has no event of it. */
export const findRootsOfEndingDecisions = async (rows: Read, expiry: DecisionExpiry, beforeMs: number): Promise<string[]> => {
  const found = await endingRoot.find(
    rows,
    `select distinct ${endingRoot.list} from finding_decisions where expire_time is not null and not ${expiry}_reported and expire_time <= $1
     and ${isCounting}`,
    [new Date(beforeMs).toISOString()],
  );
  return found.map(({ root }) => root);
};

/**
 * Marks and returns the decisions of an organization that expire before this time and have no event of it. A decision that was made for
 * less than the notice has no event before its expiry.
 */
export const takeEndingDecisions = async (rows: Write, root: string, expiry: DecisionExpiry, beforeMs: number, noticeMs: number): Promise<EndingDecision[]> => {
  const isAnnounced = expiry === "expiring" ? `expire_time - create_time > $3 * interval '1 ms'` : "$3::bigint is not null";
  const found = await endingDecision.find(
    rows,
    `with taken as (
       update finding_decisions set ${expiry}_reported = true
       where left(uid, 40) = $1 and expire_time is not null and not ${expiry}_reported and expire_time <= $2 and ${isCounting} returning *
     )
     select ${endingDecision.list} from taken where ${isAnnounced} order by expire_time, uid`,
    [root, new Date(beforeMs).toISOString(), noticeMs],
  );
  return found;
};

// ---- export -------------------------------------------------------------------------------------------------------------

/** A finding with the decision that counts for it. */
export type ExportedFinding = RowOf<typeof exportedFinding>;

const exportedFinding = columns({
  decision: expression("decision.uid", text),
  vulnerability: expression("decision.vulnerability", text),
  state: expression("decision.state", text),
  justification: expression("decision.justification", text),
  reason: expression("decision.reason", text),
  expireTime: expression(timeText("decision.expire_time"), nullableText),
  createTime: expression(timeText("decision.create_time"), text),
  repoUid: expression("held.repo_uid", text),
  digest: expression("held.digest", text),
  packageName: expression("held.package_name", text),
  installedVersion: expression("held.installed_version", text),
  advisoryId: expression("held.advisory_id", text),
  aliases: expression("held.aliases", textList),
});

/** With an index. */
const decisionStates = ["NOT_AFFECTED", "ACCEPTED", "UNDER_INVESTIGATION", "FALSE_POSITIVE"].map((state) => `'FINDING_DECISION_STATE_${state}'`).join(", ");

/** Returns the unresolved findings of images in and below a group whose decision exists and has not expired. */
export const findExportedFindings = (rows: Read, group: string, nowMs: number, limit: number): Promise<ExportedFinding[]> =>
  exportedFinding.find(
    rows,
    `select ${exportedFinding.list} from affected_images as held join finding_decisions as decision on decision.uid = held.decision ->> 'uid'
     where left(held.uid, 40) = left($1, 40) and held.uid > $1 || '/' and held.uid < $1 || '0' and held.decision_state in (${decisionStates})
       and held.end_time is null and (decision.expire_time is null or decision.expire_time > $2) and decision.${isCounting}
     order by held.uid limit $3`,
    [group, new Date(nowMs).toISOString(), limit],
    { rows: limit, wide: false },
  );

/** A finding that no decision counts for. */
export type OpenFinding = RowOf<typeof openFinding>;

const openFinding = columns({
  repoUid: text,
  digest: text,
  packageName: text,
  installedVersion: text,
  advisoryId: text,
  aliases: textList,
});

/** Returns the open findings of these images ("REPO_UID@DIGEST") with one of these IDs of advisories or aliases. */
export const findOpenFindings = (rows: Read, root: string, images: readonly string[], ids: readonly string[], nowMs: number): Promise<OpenFinding[]> =>
  openFinding.find(
    rows,
    `select ${openFinding.list} from affected_images
     where left(uid, 40) = $1 and image = any($2) and advisory_ids ?| $3::text[] and end_time is null
       and (decision is null or decided_until <= $4 or not exists (
         select from finding_decisions as made where made.uid = affected_images.decision ->> 'uid' and made.${isCounting}))
       and coalesce(undecided_state, state) <> 'AFFECTED_IMAGE_STATE_SUPPRESSED'`,
    [root, images, ids, new Date(nowMs).toISOString()],
    { rows: images.length, wide: true },
  );

const decided = columns({ uid: text });

/** Returns whether a finding at these places has a decision that has expired, but was not matched since. */
export const hasExpiredFindings = async (rows: Read, ranges: readonly { readonly low: string; readonly high: string }[], nowMs: number): Promise<boolean> => {
  const found = await decided.findOne(
    rows,
    `select ${decided.list} from affected_images where decided_until <= $1
       and exists (select from unnest($2::text[], $3::text[]) as range(low, high) where uid >= range.low and uid < range.high) limit 1`,
    [new Date(nowMs).toISOString(), ranges.map(({ low }) => low), ranges.map(({ high }) => high)],
  );
  return found !== undefined;
};
