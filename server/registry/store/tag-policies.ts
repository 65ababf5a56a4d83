// Tables tag_policies and ended_tags: tags past their end of life, by the operator's policies or a pushed lifecycle annotation.

import { columns, expression, flag, type Read, type RowOf, text, textList, type Write } from "#db";

export type TagPolicy = RowOf<typeof tagPolicy>;

const tagPolicy = columns({
  organization: text,
  pattern: text,
  /** "2026-04-30" */
  endDate: text,
  /** All existing tags have been checked. */
  applied: flag,
});

export const findTagPolicies = (rows: Read): Promise<TagPolicy[]> =>
  tagPolicy.find(rows, `select ${tagPolicy.list} from tag_policies order by organization, end_date, pattern`);

/** Sets a policy, and schedules a check of all tags. */
export const writeTagPolicy = async (rows: Write, { organization, pattern, endDate }: Omit<TagPolicy, "applied">): Promise<void> => {
  await rows.query(
    `insert into tag_policies (organization, pattern, end_date) values ($1, $2, $3)
     on conflict (organization, pattern) do update set end_date = excluded.end_date, seen_uid = '', applied = false`,
    [organization, pattern, endDate],
  );
  await recheckTags(rows, organization);
};

/** Returns false if there was none. */
export const deleteTagPolicy = async (rows: Write, organization: string, pattern: string): Promise<boolean> => {
  const gone = await rows.query("delete from tag_policies where organization = $1 and pattern = $2 returning 1", [organization, pattern]);
  await recheckTags(rows, organization);
  return gone.length > 0;
};

const recheckTags = async (rows: Write, organization: string): Promise<void> => {
  await rows.query("update ended_tags set recheck = true where not recheck and ($1 = '' or left(tag_uid, 40) = $1)", [organization]);
};

/** Schedules a check, because a pushed annotation may no longer apply. */
export const recheckTagsOf = async (rows: Write, repoUid: string): Promise<void> => {
  await rows.query("update ended_tags set recheck = true where not recheck and left(tag_uid, -17) = $1", [repoUid]);
};

const duePolicy = columns({ pattern: expression("policy.pattern", text), repoName: expression("repo.name", text) });

/** Returns the patterns of due policies and the name of the repo. */
export const findDuePatterns = async (
  rows: Read,
  repoUid: string,
  today: string,
): Promise<{ readonly patterns: readonly string[]; readonly repoName: string }> => {
  const found = await duePolicy.find(
    rows,
    `select ${duePolicy.list} from tag_policies as policy join repos as repo on repo.uid = $1
     where policy.organization in ('', left($1, 40)) and policy.end_date <= $2`,
    [repoUid, today],
  );
  return { patterns: found.map(({ pattern }) => pattern), repoName: found[0]?.repoName ?? "" };
};

/** Records that the reason for the deprecation may no longer apply later. */
export const insertEndedTag = async (rows: Write, tagUid: string): Promise<void> => {
  await rows.query("insert into ended_tags (tag_uid) values ($1) on conflict (tag_uid) do update set recheck = false", [tagUid]);
};

/** Schedules a check of a tag with a new digest. */
export const recheckTag = async (rows: Write, tagUid: string): Promise<void> => {
  await rows.query("update ended_tags set recheck = true where tag_uid = $1", [tagUid]);
};

export const deleteEndedTag = async (rows: Write, tagUid: string): Promise<void> => {
  await rows.query("delete from ended_tags where tag_uid = $1", [tagUid]);
};

export type HeldTag = RowOf<typeof heldTag>;

const heldTag = columns({
  uid: expression("tag.uid", text),
  name: expression("tag.name", text),
  digest: expression("tag.digest", text),
  bundles: { ...textList, sql: "tag.bundles" },
  deprecated: expression("tag.deprecated", flag),
  repoUid: expression("repo.uid", text),
  repoName: expression("repo.name", text),
});

/** Locks and returns a due policy that is not applied to all tags yet. */
export const lockDuePolicy = async (rows: Write, today: string): Promise<(TagPolicy & { readonly seenUid: string }) | undefined> => {
  const due = columns<TagPolicy & { seenUid: string }>({ organization: text, pattern: text, endDate: text, applied: flag, seenUid: text });
  return due.findOne(
    rows,
    `select ${due.list} from tag_policies where not applied and end_date <= $1 order by organization, pattern limit 1 for update skip locked`,
    [today],
  );
};

/** Locks and returns the next tags that are not deprecated. */
export const lockTagsBehind = (rows: Write, organization: string, seenUid: string, count: number): Promise<HeldTag[]> =>
  heldTag.find(
    rows,
    `select ${heldTag.list} from tags as tag join repos as repo on repo.uid = left(tag.uid, -17)
     where tag.uid > $2 and ($1 = '' or (tag.uid > $1 and tag.uid < $1 || '0')) and not tag.deprecated order by tag.uid limit $3 for update of tag`,
    [organization, seenUid, count],
  );

export const noteSeenTags = async (rows: Write, { organization, pattern }: TagPolicy, seenUid: string, applied: boolean): Promise<void> => {
  await rows.query("update tag_policies set seen_uid = $3, applied = $4 where organization = $1 and pattern = $2", [organization, pattern, seenUid, applied]);
};

// A date or time.
const endedText = `manifest.artifact_type = 'application/vnd.microsoft.artifact.lifecycle'
  and manifest.annotations ->> 'vnd.microsoft.artifact.lifecycle.end-of-life.date' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)'
  and left(manifest.annotations ->> 'vnd.microsoft.artifact.lifecycle.end-of-life.date', 10) <= $1`;

/** Locks and returns tags with a pushed annotation that has reached its end date. */
export const lockEndedTags = (rows: Write, today: string, count: number): Promise<HeldTag[]> =>
  heldTag.find(
    rows,
    `select ${heldTag.list} from repo_manifests as manifest
     left join repo_manifests as image on image.repo_uid = manifest.repo_uid and image.sha512 = manifest.subject
     join tags as tag on left(tag.uid, -17) = manifest.repo_uid and tag.digest = coalesce(image.sha256, manifest.subject)
     join repos as repo on repo.uid = manifest.repo_uid
     where ${endedText} and not tag.deprecated order by tag.uid limit $2 for update of tag`,
    [today, count],
  );

/** Locks and returns the tags to check. `isEnded`: a pushed annotation has reached its end date. */
export const lockTagsToCheck = (rows: Write, today: string, count: number): Promise<(HeldTag & { readonly isEnded: boolean })[]> => {
  const checked = columns<HeldTag & { isEnded: boolean }>({
    uid: expression("tag.uid", text),
    name: expression("tag.name", text),
    digest: expression("tag.digest", text),
    bundles: { ...textList, sql: "tag.bundles" },
    deprecated: expression("tag.deprecated", flag),
    repoUid: expression("repo.uid", text),
    repoName: expression("repo.name", text),
    isEnded: expression(
      `exists (select from repo_manifests as manifest
         left join repo_manifests as image on image.repo_uid = manifest.repo_uid and image.sha512 = manifest.subject
         where manifest.repo_uid = repo.uid and coalesce(image.sha256, manifest.subject) = tag.digest and ${endedText})`,
      flag,
    ),
  });
  return checked.find(
    rows,
    `select ${checked.list} from ended_tags join tags as tag on tag.uid = ended_tags.tag_uid join repos as repo on repo.uid = left(tag.uid, -17)
     where ended_tags.recheck order by tag.uid limit $2 for update of tag, ended_tags skip locked`,
    [today, count],
  );
};
