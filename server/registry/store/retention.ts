// Tables retention_rules and retention_runs, and what is known about the tags of a repo.

import { timestamp } from "#base/time.ts";
import { isAttached } from "./repo-manifests.ts";
import { columns, expression, flag, nullableTimeMs, number, type Read, type RowOf, text, timeMs, type Write } from "#db";

export type RetentionRule = RowOf<typeof retentionRule>;

const retentionRule = columns({
  uid: text,
  name: text,
  repoUid: text,
  tagPattern: text,
  versionRange: text,
  keepAll: flag,
  keepLast: number,
  keepVersions: number,
  keepDays: number,
  keepPulledDays: number,
  inUseDays: number,
  previewOnly: flag,
});

/** In order of their groups, highest first. */
export const findRetentionRules = (rows: Read, organization: string): Promise<RetentionRule[]> =>
  retentionRule.find(rows, `select ${retentionRule.list} from retention_rules where left(uid, 40) = $1 order by length(uid), uid`, [organization]);

/** Until the transaction ends, no other one checks a rule of the organization against the others. */
export const lockRetentionRules = async (rows: Write, organization: string): Promise<void> => {
  await rows.query("select pg_advisory_xact_lock(730141293, hashtext($1))", [organization]);
};

export type TagFacts = RowOf<typeof tagFacts>;

const tagFacts = columns({
  uid: expression("tag.uid", text),
  name: expression("tag.name", text),
  digest: expression("tag.digest", text),
  updateMs: timeMs("tag.update_time"),
  /** Last pull or change. */
  usedMs: timeMs("greatest(tag.update_time, manifest.use_time, by_tag.pulled, by_digest.pulled)"),
  /** Last pull by an identity with the label `runtime`, also of an image of its index. */
  runtimeMs: nullableTimeMs("greatest(by_tag.ran, by_digest.ran)"),
  /** Source of a report; "" if none. */
  reportedBy: expression("coalesce(reported_tag.source, reported_digest.source)", text),
  /** An index that lists its manifest. */
  index: expression(
    `(select min(listed.sha256) from manifest_children as listed where listed.repo_uid = $1 and listed.child in (tag.digest, manifest.sha512))`,
    text,
  ),
  /** A manifest with its manifest as the subject, other than an SBOM that the server attached. */
  referrer: expression(
    `(select min(about.sha256) from repo_manifests as about
       where about.repo_uid = $1 and about.subject <> '' and about.subject in (tag.digest, manifest.sha512) and not ${isAttached("about")})`,
    text,
  ),
  /** For a tag such as sha256-….sig: the stored image that it is attached to. */
  attachedTo: expression(
    `(select image.sha256 from repo_manifests as image where tag.is_referrer and image.repo_uid = $1 and image.sha256 = 'sha256:' || substr(tag.name, 8, 64))`,
    text,
  ),
});

/** Returns at most `count` tags of a repo, by name. */
export const findTagFacts = (rows: Read, repo: string, nowMs: number, count: number): Promise<TagFacts[]> =>
  tagFacts.find(
    rows,
    `with pulled as materialized (select digest, tag, pull_time, runtime_time from last_pulls where repo_uid = $1),
     reported as materialized (select digest, tag, source from images_in_use where repo_uid = $1 and expire_time > $2),
     by_tag as materialized (select tag, max(pull_time) as pulled, max(runtime_time) as ran from pulled where tag <> '' group by tag),
     by_digest as materialized (
       select digest, max(pull_time) as pulled, max(runtime_time) as ran from (
         select digest, pull_time, runtime_time from pulled
         union all
         select listed.sha256, pull_time, runtime_time from pulled join repo_manifests as image on image.repo_uid = $1 and image.sha256 = pulled.digest
           join manifest_children as listed on listed.repo_uid = $1 and listed.child in (image.sha256, image.sha512)
       ) as either group by digest),
     reported_tag as materialized (select tag, min(source) as source from reported where tag <> '' group by tag),
     reported_digest as materialized (
       select digest, min(source) as source from (
         select digest, source from reported where digest <> ''
         union all
         select listed.sha256, source from reported join repo_manifests as image on image.repo_uid = $1 and image.sha256 = reported.digest
           join manifest_children as listed on listed.repo_uid = $1 and listed.child in (image.sha256, image.sha512)
       ) as either group by digest)
     select ${tagFacts.list} from tags as tag
     left join repo_manifests as manifest on manifest.repo_uid = $1 and manifest.sha256 = tag.digest
     left join by_tag on by_tag.tag = tag.name left join by_digest on by_digest.digest = tag.digest
     left join reported_tag on reported_tag.tag = tag.name left join reported_digest on reported_digest.digest = tag.digest
     where left(tag.uid, -17) = $1 order by tag.name collate "POSIX" limit $3`,
    [repo, timestamp(nowMs), count],
    { rows: count, wide: true },
  );

/** Locks those tags that still point to these digests and have not changed since; returns their uids. */
export const lockUnchangedTags = async (rows: Write, tags: readonly TagFacts[]): Promise<ReadonlySet<string>> => {
  const found = await rows.query(
    `select tags.uid from tags join unnest($1::text[], $2::text[], $3::bigint[]) as given(uid, digest, update_ms) using (uid)
     where tags.digest = given.digest and (extract(epoch from tags.update_time) * 1000)::bigint = given.update_ms order by tags.uid for update of tags`,
    [tags.map(({ uid }) => uid), tags.map(({ digest }) => digest), tags.map(({ updateMs }) => String(updateMs))],
  );
  return new Set(found.map(([uid]) => uid ?? ""));
};

// ---- runs ------------------------------------------------------------------------------------------------------------

export type RetentionRun = RowOf<typeof retentionRun>;

const retentionRun = columns({ organization: text, seenRepoUid: text, deletedTags: number });

/** Makes a run for each organization with rules. */
export const insertRetentionRuns = async (rows: Write, nowMs: number): Promise<void> => {
  await rows.query(
    `insert into retention_runs (organization, due_time, piece_time)
     select distinct left(uid, 40), $1::timestamptz, $1::timestamptz from retention_rules as rule
     where not exists (select from retention_runs as held where held.organization = left(rule.uid, 40)) on conflict do nothing`,
    [timestamp(nowMs)],
  );
};

/** Locks the due run that waited longest, except of suspended organizations and of `paused` ones. */
export const lockDueRetentionRun = (rows: Write, nowMs: number, paused: readonly string[]): Promise<RetentionRun | undefined> =>
  retentionRun.findOne(
    rows,
    `select ${retentionRun.list} from retention_runs
     where due_time <= $1 and organization <> all($2)
       and not exists (select from groups where groups.uid = organization and groups.status = 'ORG_STATUS_SUSPENDED')
     order by piece_time, organization limit 1 for update skip locked`,
    [timestamp(nowMs), paused],
  );

export const noteRetentionPiece = async (rows: Write, { organization, seenRepoUid, deletedTags }: RetentionRun, nowMs: number): Promise<void> => {
  await rows.query("update retention_runs set seen_repo_uid = $2, deleted_tags = $3, piece_time = $4 where organization = $1", [
    organization,
    seenRepoUid,
    deletedTags,
    timestamp(nowMs),
  ]);
};

export const finishRetentionRun = async (rows: Write, organization: string, nextMs: number): Promise<void> => {
  await rows.query("update retention_runs set seen_repo_uid = '', deleted_tags = 0, due_time = $2, piece_time = $2 where organization = $1", [
    organization,
    timestamp(nextMs),
  ]);
};

export const deleteRetentionRun = async (rows: Write, organization: string): Promise<void> => {
  await rows.query("delete from retention_runs where organization = $1", [organization]);
};

/** Returns the next repos of an organization, in order of their uids. */
export const findReposAfter = async (rows: Read, organization: string, last: string, count: number): Promise<string[]> => {
  const found = await rows.query("select uid from repos where uid > $1 and uid < $2 order by uid limit $3", [
    last === "" ? `${organization}/` : last,
    `${organization}0`,
    count,
  ]);
  return found.map(([uid]) => uid ?? "");
};
