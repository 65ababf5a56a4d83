// Table affected_images: packages of images that an advisory affects or affected. Matching after imports fills it from
// image_packages, per organization. Resolved rows are kept as long as reports reach back.

import { hash } from "node:crypto";
import { columns, expression, flag, number, periodRetention, type Read, type Retention, type RowOf, text, textList, type Write } from "#db";
import { columnOf, stepRows } from "./feed-rows.ts";
import type { FindingFacts } from "./finding-facts.ts";
import { knownContentsText } from "./image-contents.ts";
import { imagesText, packageVersionsText } from "./image-packages.ts";

// Unique among locks (lock.ts); combined with the organization.
const matchingKey = 730_141_291;

/** Serializes an organization's matching until the transaction ends. */
export const lockMatching = async (rows: Write, root: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock(${matchingKey}, hashtext($1))`, [root]);
};

const installedExpressions = {
  owner: expression("image.owner", text),
  name: expression("package.name", text),
  version: expression("installed.version", text),
};

const installed = columns(installedExpressions);

// Few names are found in an object faster than all of its names are compared with them.
const soughtMax = 50;

/** A condition on `packages` by the fourth parameter; true for many names. */
const hasAnyText = (names: readonly string[]): string => (names.length <= soughtMax ? "packages ?| $4" : "true");

/** Names as the keys of an object are found by halving; in a list each package of each image is compared with all of them. */
const namesObject = (names: readonly string[]): string => JSON.stringify(Object.fromEntries(names.map((name) => [name, true])));

export type InstalledVersion = RowOf<typeof installed>;

export interface ImageRepo {
  readonly owner: string;
  readonly repo: string;
}

const repoColumns = (repos: readonly ImageRepo[]): [string[], string[]] => [columnOf(repos, ({ owner }) => owner), columnOf(repos, ({ repo }) => repo)];

/** Returns each package version once per group. */
export const findInstalledVersions = (rows: Read, repos: readonly ImageRepo[]): Promise<InstalledVersion[]> =>
  installed.find(
    rows,
    `select distinct ${installed.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral ${imagesText("image.owner = given.owner and image.repo = given.repo")} as image
     cross join ${packageVersionsText}`,
    repoColumns(repos),
  );

const packageName = columns({ name: expression("package.name", text) });

/** Returns the names of all packages in the images, each once. */
export const findPackageNames = async (rows: Read, repos: readonly ImageRepo[]): Promise<string[]> => {
  const found = await packageName.find(
    rows,
    `select distinct ${packageName.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral ${imagesText("image.owner = given.owner and image.repo = given.repo")} as image
     cross join lateral jsonb_object_keys(image.packages) as package(name)`,
    repoColumns(repos),
  );
  return found.map(({ name }) => name);
};

const installedInRepo = columns({ repo: expression("image.repo", text), ...installedExpressions });

/** Returns each version of these packages once per repo. */
export const findVersionsOf = (rows: Read, repos: readonly ImageRepo[], names: readonly string[]): Promise<RowOf<typeof installedInRepo>[]> =>
  installedInRepo.find(
    rows,
    `select distinct ${installedInRepo.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral (
       select * from ${imagesText("image.owner = given.owner and image.repo = given.repo")} as each where ${hasAnyText(names)} offset 0) as image
     cross join ${packageVersionsText} where $3::jsonb ? package.name and cardinality($4::text[]) > 0`,
    [...repoColumns(repos), namesObject(names), names],
  );

const imageRoot = columns({ root: text });

/** Returns organizations that have or had images with packages. */
export const findImageRoots = async (rows: Read): Promise<string[]> => {
  const found = await imageRoot.find(
    rows,
    `select ${imageRoot.list} from (
       select distinct left(owner, 40) as root from image_packages where owner <> ''
       union select distinct left(uid, 40) from image_sboms
       union select uid from groups where length(uid) = 40 and exists (
         select from image_contents where left(image_contents.uid, 40) = groups.uid and state in ${knownContentsText})
       union select root from access_versions where exists (
         select from affected_images where left(uid, 40) = access_versions.root)) as organization
     where exists (select from groups where uid = root) order by root`,
  );
  return found.map(({ root }) => root);
};

/** Counts images per tag and architecture. */
export type SizedRepo = RowOf<typeof sizedRepo>;

const sizedRepo = columns({
  owner: expression("found.owner", text),
  repo: expression("found.repo", text),
  images: expression("found.images", number),
});

export const findImageRepos = (rows: Read, root: string): Promise<SizedRepo[]> =>
  sizedRepo.find(
    rows,
    `select ${sizedRepo.list} from (
       select owner, repo, count(*) as images from ${imagesText("image.owner >= $1 and image.owner < $1 || '0'")} as image
       group by owner, repo) as found order by found.owner, found.repo`,
    [root],
  );

/** Omits repos without images. */
export const countImagesOf = (rows: Read, repos: readonly ImageRepo[]): Promise<SizedRepo[]> =>
  sizedRepo.find(
    rows,
    `select ${sizedRepo.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral (
       select owner, repo, count(*) as images from ${imagesText("image.owner = given.owner and image.repo = given.repo")} as image
       group by owner, repo) as found order by found.owner, found.repo`,
    repoColumns(repos),
  );

export type TaggedImage = RowOf<typeof taggedImage>;

const taggedImage = columns({
  owner: expression("image.owner", text),
  repo: expression("image.repo", text),
  tag: expression("image.tag", text),
  architecture: expression("image.architecture", text),
  packagesDigest: expression("image.digest", text),
  /** The group's repo and the tag's digest; empty if absent. */
  repoUid: expression("coalesce(repo.uid, '')", text),
  digest: expression("coalesce(tag.digest, '')", text),
  /** Of the platform with the packages; "" if unknown. */
  platformDigest: expression("image.platform_digest", text),
  fromLayers: expression("image.from_layers", flag),
  /** JSON: versions by name. */
  packages: expression("held.packages", text),
});

/** Returns images with any of these packages, reduced to those. */
export const findTaggedImages = (rows: Read, repos: readonly ImageRepo[], names: readonly string[]): Promise<TaggedImage[]> =>
  taggedImage.find(
    rows,
    // Repo by repo through the indexes: after a bulk load the planner lacks statistics and reads whole tables.
    `select ${taggedImage.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral (
       select * from ${imagesText("image.owner = given.owner and image.repo = given.repo")} as each
       where cardinality($4::text[]) > 0 and ${hasAnyText(names)} offset 0) as image
     cross join lateral (
       select jsonb_object_agg(key, value) as packages from jsonb_each(image.packages) where $3::jsonb ? key having count(*) > 0) as held
     left join lateral (
       select uid from repos where left(uid, -17) = image.owner and name collate "POSIX" in (image.repo, image.short_repo)
         and length(uid) = length(image.owner) + 17 order by name <> image.repo limit 1) as repo on true
     left join lateral (
       select digest from tags where left(uid, -17) = repo.uid and name collate "POSIX" = image.tag limit 1) as tag on true
     order by image.owner, image.repo, image.tag, image.architecture`,
    [...repoColumns(repos), namesObject(names), names],
  );

/** A match of an image's package with an advisory. */
export interface AffectedImageDraft extends ImageRepo {
  readonly uid: string;
  readonly repoUid: string;
  readonly tags: readonly string[];
  readonly digest: string;
  readonly architectures: readonly string[];
  readonly packageName: string;
  readonly installedVersion: string;
  readonly fixedVersion: string;
  readonly advisoryId: string;
  readonly aliases: readonly string[];
  readonly advisoryUid: string;
  readonly state: "AFFECTED_IMAGE_STATE_AFFECTED" | "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION" | "AFFECTED_IMAGE_STATE_SUPPRESSED";
  /** JSON; empty if none. */
  readonly suppression: string;
  /** JSON: the decision that counts, with the state without it and its expiry; empty if none. */
  readonly decision: string;
  readonly undecidedState: string;
  readonly decidedUntil: string;
  /** The advisory says that no fix is planned. */
  readonly wontFix: boolean;
}

/** The facts' columns, as in writeAffectedImages. */
const factColumns = (facts: readonly FindingFacts[]): string[][] => [
  columnOf(facts, ({ severity }) => severity),
  columnOf(facts, ({ severityRank }) => String(severityRank)),
  columnOf(facts, ({ severityOrigin }) => severityOrigin),
  columnOf(facts, ({ cvssVector }) => cvssVector),
  columnOf(facts, ({ cvssScore }) => String(cvssScore)),
  columnOf(facts, ({ epssScore }) => String(epssScore)),
  columnOf(facts, ({ exploitAddedDate }) => exploitAddedDate),
  columnOf(facts, ({ exploitDueDate }) => exploitDueDate),
];

/** Derives the uid from group, image, package, version and advisory. `image` is its digest, or its package list's digest if untagged. */
export const affectedImageUid = (owner: string, repo: string, image: string, name: string, version: string, advisoryUid: string): string => {
  // PostgreSQL's JSON format, because PostgreSQL made these uids before.
  const text = `[${[repo, image, name, version, advisoryUid].map((part) => JSON.stringify(part)).join(", ")}]`;
  return `${owner}/${hash("sha256", text, "hex").slice(0, 16)}`;
};

/** A row's repo, and whether a false positive or decision suppresses the match. */
export interface HeldRow extends ImageRepo {
  readonly isSuppressed: boolean;
}

const affectedRepo = columns<HeldRow & { readonly uid: string }>({
  uid: text,
  owner: expression("left(uid, -17)", text),
  repo: text,
  isSuppressed: expression("state = 'AFFECTED_IMAGE_STATE_SUPPRESSED'", flag),
});

const affectedRow = columns<HeldRow & { readonly uid: string }>({
  uid: expression("held.uid", text),
  owner: expression("left(held.uid, -17)", text),
  repo: expression("held.repo", text),
  isSuppressed: expression("held.state = 'AFFECTED_IMAGE_STATE_SUPPRESSED'", flag),
});

const byUid = (found: readonly (HeldRow & { readonly uid: string })[]): Map<string, HeldRow> =>
  new Map(found.map(({ uid, owner, repo, isSuppressed }) => [uid, { owner, repo, isSuppressed }]));

/** Returns open rows by uid. */
export const findAffectedByPackages = async (rows: Read, root: string, names: readonly string[]): Promise<Map<string, HeldRow>> =>
  byUid(
    await affectedRow.find(
      rows,
      // Separate index ranges: without statistics of recent writes, the planner reads all rows.
      `select ${affectedRow.list} from unnest($2::text[]) as given(name)
       cross join lateral (
         select uid, repo, state from affected_images where left(uid, 40) = $1 and package_name = given.name and end_time is null offset 0) as held`,
      [root, names],
    ),
  );

/** Returns open rows by uid. */
export const findAffectedByRepos = async (rows: Read, root: string, repos: readonly ImageRepo[]): Promise<Map<string, HeldRow>> =>
  byUid(
    await affectedRow.find(
      rows,
      `select ${affectedRow.list} from unnest($2::text[], $3::text[]) as given(owner, repo)
       cross join lateral (
         select uid, repo, state from affected_images where left(uid, 40) = $1 and end_time is null
           and (repo, uid) > (given.repo, given.owner || '/') and (repo, uid) < (given.repo, given.owner || '0')
           and left(uid, -17) = given.owner offset 0) as held`,
      [root, ...repoColumns(repos)],
    ),
  );

/** Returns open rows by uid. */
export const findAffectedRepos = async (rows: Read, root: string): Promise<Map<string, HeldRow>> => {
  const found = new Map<string, HeldRow>();
  for (let after = `${root}/`; ; ) {
    // By primary key: without statistics of recent writes, other orders get bad plans.
    const step = await affectedRepo.find(
      rows,
      `select ${affectedRepo.list} from affected_images
       where uid > $1 and uid < $2 and end_time is null order by uid limit ${stepRows}`,
      [after, `${root}0`],
    );
    for (const { uid, owner, repo, isSuppressed } of step) found.set(uid, { owner, repo, isSuppressed });
    const last = step.at(-1);
    if (!last || step.length < stepRows) return found;
    after = last.uid;
  }
};

const writtenRow = columns({ uid: expression("held.uid", text), isNew: expression("held.xmax = 0", flag) });

/** `isNew`: not updated. */
export type WrittenRow = RowOf<typeof writtenRow>;

/** Skips unchanged rows, and returns the others. `facts` are those of the drafts. */
export const writeAffectedImages = (rows: Write, drafts: readonly AffectedImageDraft[], facts: readonly FindingFacts[], nowMs: number): Promise<WrittenRow[]> =>
  writtenRow.find(
    rows,
    `insert into affected_images as held (uid, repo, repo_uid, tags, digest, architectures, package_name, installed_version, fixed_version,
       advisory_id, aliases, advisory_ids, advisory_uid, state, suppression, wont_fix, severity, severity_rank, severity_origin, cvss_vector,
       cvss_score, epss_score, exploit_added_date, exploit_due_date, decision, undecided_state, decided_until, start_time, create_time, update_time)
     select uid, repo, repo_uid, tags::jsonb, digest, architectures::jsonb, package_name, installed_version, fixed_version, advisory_id,
       aliases::jsonb, jsonb_build_array(advisory_id) || aliases::jsonb, advisory_uid, state, nullif(suppression, '')::jsonb,
       wont_fix = 'true', severity, severity_rank::integer, nullif(severity_origin, ''), cvss_vector, cvss_score::double precision,
       epss_score::double precision, exploit_added_date, exploit_due_date, nullif(decision, '')::jsonb, nullif(undecided_state, ''),
       nullif(decided_until, '')::timestamptz, $14::timestamptz, $14::timestamptz, $14::timestamptz
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
       $11::text[], $12::text[], $13::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[],
       $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[]) as given(uid, repo, repo_uid, tags, digest, architectures, package_name,
       installed_version, fixed_version, advisory_id, aliases, advisory_uid, state, suppression, wont_fix, severity, severity_rank,
       severity_origin, cvss_vector, cvss_score, epss_score, exploit_added_date, exploit_due_date, decision, undecided_state, decided_until)
     on conflict (uid) do update set repo_uid = excluded.repo_uid, tags = excluded.tags, digest = excluded.digest,
       architectures = excluded.architectures, fixed_version = excluded.fixed_version, advisory_id = excluded.advisory_id,
       aliases = excluded.aliases, advisory_ids = excluded.advisory_ids, state = excluded.state,
       suppression = excluded.suppression, wont_fix = excluded.wont_fix, severity = excluded.severity, severity_rank = excluded.severity_rank,
       severity_origin = excluded.severity_origin, cvss_vector = excluded.cvss_vector, cvss_score = excluded.cvss_score,
       epss_score = excluded.epss_score, exploit_added_date = excluded.exploit_added_date, exploit_due_date = excluded.exploit_due_date,
       decision = excluded.decision, undecided_state = excluded.undecided_state, decided_until = excluded.decided_until, end_time = null,
       start_time = case when held.end_time is null then held.start_time else excluded.start_time end,
       update_time = greatest(excluded.update_time, held.update_time + interval '1 ms'),
       left_tags = (held.left_tags || case when held.end_time is not null then '{}' else (
         select coalesce(jsonb_object_agg(name, $14), '{}') from jsonb_array_elements_text(held.tags) as name
         where not excluded.tags ? name) end)
     where (held.repo_uid, held.tags, held.digest, held.architectures, held.fixed_version, held.advisory_id, held.aliases,
         held.state, held.suppression, held.end_time, held.wont_fix, held.severity, held.severity_origin, held.cvss_vector, held.epss_score,
         held.exploit_added_date, held.exploit_due_date, held.decision, held.undecided_state)
       is distinct from (excluded.repo_uid, excluded.tags, excluded.digest, excluded.architectures, excluded.fixed_version, excluded.advisory_id,
         excluded.aliases, excluded.state, excluded.suppression, null, excluded.wont_fix, excluded.severity, excluded.severity_origin,
         excluded.cvss_vector, excluded.epss_score, excluded.exploit_added_date, excluded.exploit_due_date, excluded.decision,
         excluded.undecided_state)
     returning ${writtenRow.list}`,
    [
      columnOf(drafts, ({ uid }) => uid),
      columnOf(drafts, ({ repo }) => repo),
      columnOf(drafts, ({ repoUid }) => repoUid),
      columnOf(drafts, ({ tags }) => JSON.stringify(tags)),
      columnOf(drafts, ({ digest }) => digest),
      columnOf(drafts, ({ architectures }) => JSON.stringify(architectures)),
      columnOf(drafts, ({ packageName }) => packageName),
      columnOf(drafts, ({ installedVersion }) => installedVersion),
      columnOf(drafts, ({ fixedVersion }) => fixedVersion),
      columnOf(drafts, ({ advisoryId }) => advisoryId),
      columnOf(drafts, ({ aliases }) => JSON.stringify(aliases)),
      columnOf(drafts, ({ advisoryUid }) => advisoryUid),
      columnOf(drafts, ({ state }) => state),
      new Date(nowMs).toISOString(),
      columnOf(drafts, ({ suppression }) => suppression),
      columnOf(drafts, ({ wontFix }) => String(wontFix)),
      ...factColumns(facts),
      columnOf(drafts, ({ decision }) => decision),
      columnOf(drafts, ({ undecidedState }) => undecidedState),
      columnOf(drafts, ({ decidedUntil }) => decidedUntil),
    ],
  );

/** An open row with its facts. */
export type AffectedFacts = RowOf<typeof affectedFacts>;

const affectedFacts = columns({
  uid: text,
  owner: expression("left(uid, -17)", text),
  repo: text,
  packageName: text,
  advisoryId: text,
  aliases: textList,
  severity: text,
  severityRank: number,
  severityOrigin: text,
  cvssVector: text,
  cvssScore: number,
  epssScore: number,
  exploitAddedDate: text,
  exploitDueDate: text,
});

/** Returns the open rows of advisories with one of these IDs, by uid. */
export const findAffectedFacts = (rows: Read, root: string, ids: readonly string[], after: string, limit: number): Promise<AffectedFacts[]> =>
  affectedFacts.find(
    rows,
    `select ${affectedFacts.list} from affected_images
     where advisory_ids ?| $2::text[] and left(uid, 40) = $1 and uid > $3 and end_time is null order by uid limit $4`,
    [root, ids, after, limit],
  );

/** Returns the organizations with open rows of advisories with one of these IDs. */
export const findRootsWithAdvisories = async (rows: Read, ids: readonly string[]): Promise<string[]> => {
  const found = await imageRoot.find(
    rows,
    `select distinct ${imageRoot.list} from (select left(uid, 40) as root from affected_images where advisory_ids ?| $1::text[] and end_time is null) as found
     order by root`,
    [ids],
  );
  return found.map(({ root }) => root);
};

/** EPSS scores alone, which change daily, do not change `update_time`. */
export const writeAffectedFacts = async (rows: Write, changed: readonly (FindingFacts & { readonly uid: string })[], nowMs: number): Promise<void> => {
  await rows.query(
    `update affected_images as held set severity = given.severity, severity_rank = given.severity_rank::integer,
       severity_origin = nullif(given.severity_origin, ''), cvss_vector = given.cvss_vector, cvss_score = given.cvss_score::double precision,
       epss_score = given.epss_score::double precision, exploit_added_date = given.exploit_added_date, exploit_due_date = given.exploit_due_date,
       update_time = case when (held.severity, held.severity_origin, held.cvss_vector, held.exploit_added_date, held.exploit_due_date)
         is distinct from (given.severity, nullif(given.severity_origin, ''), given.cvss_vector, given.exploit_added_date, given.exploit_due_date)
         then greatest($2::timestamptz, held.update_time + interval '1 ms') else held.update_time end
     from unnest($1::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) as given(uid, severity,
       severity_rank, severity_origin, cvss_vector, cvss_score, epss_score, exploit_added_date, exploit_due_date)
     where held.uid = given.uid`,
    [columnOf(changed, ({ uid }) => uid), new Date(nowMs).toISOString(), ...factColumns(changed)],
  );
};

const dueTimesStep = columns({ lastUid: expression("coalesce(max(uid), '')", text), count: expression("count(*)", number) });

/** Writes the due times of the open rows after `after` that have others by the present policies; returns the last row and the number of rows. */
export const writeDueTimes = async (rows: Write, root: string, after: string, limit: number, nowMs: number): Promise<RowOf<typeof dueTimesStep>> =>
  (await dueTimesStep.findOne(
    rows,
    `with step as materialized (
       select uid, finding_due_time(affected_images) as due_time from affected_images
       where uid > greatest($1, $2::text) collate "C" and uid < $1 || '0' and end_time is null order by uid limit $3
     ), changed as (
       update affected_images as held set due_time = step.due_time, overdue_reported = held.overdue_reported and step.due_time <= $4
       from step where held.uid = step.uid and held.due_time <> step.due_time
     )
     select ${dueTimesStep.list} from step`,
    [root, after, limit, new Date(nowMs).toISOString()],
  )) ?? { lastUid: "", count: 0 };

// ---- digests of changes ---------------------------------------------------------------------------------------------

/** Number of findings of a group and severity that changed in the same way. */
export type FindingCount = RowOf<typeof findingCount>;

const findingCount = columns({
  change: expression("counted.change", text),
  owner: expression("left(counted.uid, -17)", text),
  severityRank: expression("counted.severity_rank", number),
  count: expression("count(*)", number),
  exploitedCount: expression("count(*) filter (where counted.exploited)", number),
  fixableCount: expression("count(*) filter (where counted.fix_state = 'FINDING_FIX_STATE_FIXABLE')", number),
});

const subjectOf = (row: string): string =>
  `hashtextextended((left(${row}.uid, -17) || ' ' || ${row}.repo || ' ' || ${row}.package_name || ' ' || ${row}.advisory_uid) collate "C", 0)`;

/** The same vulnerability in the same package of the same repo. */
const isSameSubject = (one: string, other: string): string =>
  `${subjectOf(one)} = ${subjectOf(other)} and left(${one}.uid, -17) = left(${other}.uid, -17) and ${one}.repo = ${other}.repo
     and ${one}.package_name = ${other}.package_name and ${one}.advisory_uid = ${other}.advisory_uid`;

const isContinued = (row: string): string =>
  `exists (select from affected_images as other where ${isSameSubject("other", row)} and other.uid <> ${row}.uid and other.end_time is null)`;

const pendingRepos = "select repo_uid from image_contents where state = 'IMAGE_CONTENTS_STATE_PENDING'";

/** "made": new rows. "returned": resolved before. "released": suppressed before. */
export type OpenedRows = Readonly<Record<"made" | "returned" | "released", readonly string[]>>;

/** Counts findings that appeared or were reopened. Findings that continue others of their repo are neither. */
export const countOpenedFindings = (rows: Read, opened: OpenedRows): Promise<FindingCount[]> => {
  const given = Object.entries(opened).flatMap(([kind, uids]) => uids.map((uid) => ({ kind, uid })));
  if (given.length === 0) return Promise.resolve([]);
  return findingCount.find(
    rows,
    `select ${findingCount.list} from (
       select held.*, case when given.kind = 'made' and held.seen_time >= held.create_time then 'appeared' else 'reopened' end as change
       from unnest($1::text[], $2::text[]) as given(uid, kind)
       cross join lateral (select * from affected_images where uid = given.uid and not closed offset 0) as held
       where given.kind = 'released' or (given.kind = 'made' and held.seen_time >= held.create_time) or not exists (
         select from affected_images as other where ${isSameSubject("other", "held")} and other.uid <> all($1)
           and (other.end_time is null or not other.resolve_reported))) as counted
     group by 1, 2, 3`,
    [columnOf(given, ({ uid }) => uid), columnOf(given, ({ kind }) => kind)],
  );
};

/** Counts resolved findings that no image of their repo still has. Those of repos with an image that waits to be read are counted later. */
export const countResolvedFindings = (rows: Write, uids: readonly string[]): Promise<FindingCount[]> =>
  findingCount.find(
    rows,
    `with ended as materialized (
       select 'resolved' as change, held.* from affected_images as held where uid = any($1)
     ), waiting as materialized (
       select distinct repo_uid from ended where repo_uid in (${pendingRepos} and repo_uid in (select repo_uid from ended))
     ), deferred as (
       update affected_images as held set resolve_reported = false from ended
       where held.uid = ended.uid and ended.repo_uid in (select repo_uid from waiting)
     )
     select ${findingCount.list} from ended as counted
     where counted.repo_uid not in (select repo_uid from waiting) and not ${isContinued("counted")}
     group by 1, 2, 3`,
    [uids],
  );

/** Counts the deferred findings of repos without an image that waits to be read. */
export const countDeferredFindings = (rows: Write, root: string): Promise<FindingCount[]> =>
  findingCount.find(
    rows,
    `with settled as (
       update affected_images as held set resolve_reported = true where left(uid, 40) = $1 and not resolve_reported
         and not exists (${pendingRepos} and image_contents.repo_uid = held.repo_uid)
       returning 'resolved' as change, held.*
     )
     select ${findingCount.list} from settled as counted where counted.end_time is not null and not ${isContinued("counted")} group by 1, 2, 3`,
    [root],
  );

/** Returns organizations with findings that became overdue without an event. Only those with policies have any. */
export const findOverdueRoots = async (rows: Read, nowMs: number): Promise<string[]> => {
  const found = await imageRoot.find(
    rows,
    `select ${imageRoot.list} from (select distinct left(uid, 40) as root from due_date_policies) as organization
     where exists (select from affected_images
       where left(uid, 40) = root and due_time <= $1 and not closed and not overdue_reported and due_time < '9999-12-31T00:00:00Z') order by root`,
    [new Date(nowMs).toISOString()],
  );
  return found.map(({ root }) => root);
};

/** Counts findings that became overdue, each once. */
export const countNewlyOverdue = (rows: Write, root: string, nowMs: number, limit: number): Promise<FindingCount[]> =>
  findingCount.find(
    rows,
    `with step as materialized (
       select uid from affected_images where not closed and not overdue_reported and due_time < '9999-12-31T00:00:00Z' and due_time <= $2
         and left(uid, 40) = $1 order by due_time limit $3
     ), passed as (
       update affected_images as held set overdue_reported = true from step where held.uid = step.uid returning 'overdue' as change, held.*
     )
     select ${findingCount.list} from passed as counted group by 1, 2, 3`,
    [root, new Date(nowMs).toISOString(), limit],
  );

export const endAffectedImages = async (rows: Write, uids: readonly string[], nowMs: number): Promise<void> => {
  await rows.query(
    `update affected_images as held set state = 'AFFECTED_IMAGE_STATE_RESOLVED', suppression = null, decision = null, undecided_state = null,
       decided_until = null, end_time = $2::timestamptz,
       update_time = greatest($2::timestamptz, update_time + interval '1 ms'),
       left_tags = left_tags || (select coalesce(jsonb_object_agg(name, $2), '{}') from jsonb_array_elements_text(held.tags) as name)
     where uid = any($1)`,
    [uids, new Date(nowMs).toISOString()],
  );
};

export const findReposChangedSince = async (rows: Read, root: string, sinceMs: number): Promise<ImageRepo[]> =>
  affectedRepo
    .find(
      rows,
      `select distinct on (left(uid, -17), repo) ${affectedRepo.list} from affected_images where left(uid, 40) = $1 and update_time >= $2 order by 2, 3`,
      [root, new Date(sinceMs).toISOString()],
    )
    .then((found) => found.map(({ owner, repo }) => ({ owner, repo })));

/** A tagged image with a known package list. */
export type KnownImage = RowOf<typeof knownImage>;

const knownImage = columns({ repoUid: expression("repo.uid", text), digest: expression("tag.digest", text) });

export const findKnownImages = (rows: Read, repos: readonly ImageRepo[]): Promise<KnownImage[]> =>
  knownImage.find(
    rows,
    `select distinct ${knownImage.list} from unnest($1::text[], $2::text[]) as given(owner, repo)
     cross join lateral (
       select owner, repo, short_repo, tag from ${imagesText("image.owner = given.owner and image.repo = given.repo")} as each offset 0) as image
     cross join lateral (
       select uid from repos where left(uid, -17) = image.owner and name collate "POSIX" in (image.repo, image.short_repo)
         and length(uid) = length(image.owner) + 17 order by name <> image.repo limit 1) as repo
     cross join lateral (
       select digest from tags where left(uid, -17) = repo.uid and name collate "POSIX" = image.tag and digest <> '' limit 1) as tag
     order by 1, 2`,
    repoColumns(repos),
  );

export type AffectedPackageOfImage = RowOf<typeof affectedPackage>;

const affectedPackage = columns({
  repoUid: expression("affected.repo_uid", text),
  digest: expression("affected.digest", text),
  packageName: expression("affected.package_name", text),
  installedVersion: expression("affected.installed_version", text),
  fixedVersion: expression("affected.fixed_version", text),
  advisoryId: expression("affected.advisory_id", text),
  aliases: expression("affected.aliases", textList),
  /** Without its prefix. */
  severity: expression("replace(affected.severity, 'FINDING_SEVERITY_', '')", text),
});

/** Excludes suppressed matches. */
export const findAffectedOfImages = (rows: Read, root: string, images: readonly KnownImage[]): Promise<AffectedPackageOfImage[]> =>
  affectedPackage.find(
    rows,
    `select ${affectedPackage.list} from unnest($2::text[], $3::text[]) as given(repo_uid, digest)
     cross join lateral (
       -- In the order of its index: without statistics the planner would take any other one, and read the organization's rows for each image.
       select * from affected_images where left(uid, 40) = $1 and image >= given.repo_uid || '@' || given.digest
         and image <= given.repo_uid || '@' || given.digest order by image, uid offset 0) as affected
     where affected.end_time is null and affected.state = 'AFFECTED_IMAGE_STATE_AFFECTED'
     order by affected.repo_uid, affected.digest, affected.package_name, affected.installed_version, affected.advisory_id`,
    [root, columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );

/** Open rows never expire. */
export const affectedImagesRetention: Retention = periodRetention("reportMs", { table: "affected_images", where: "end_time < $1", order: "end_time" });

/** An advisory that no longer affects a tag's image. */
export type LeftAdvisory = RowOf<typeof leftAdvisory>;

const leftAdvisory = columns({
  owner: expression("given.owner", text),
  repo: expression("given.repo", text),
  tag: expression("given.tag", text),
  advisoryUid: expression("held.advisory_uid", text),
  /** When it stopped. */
  time: expression("max(held.left_tags ->> given.tag)", text),
});

/** Returns advisories that affected a tag earlier, but none of its images now. */
export const findLeftAdvisories = (
  rows: Read,
  tags: readonly { readonly owner: string; readonly repo: string; readonly tag: string }[],
): Promise<LeftAdvisory[]> =>
  leftAdvisory.find(
    rows,
    `select ${leftAdvisory.list} from (select distinct * from unnest($1::text[], $2::text[], $3::text[]) as each(owner, repo, tag)) as given
     join affected_images as held on left(held.uid, 40) = left(given.owner, 40) and held.repo = given.repo and held.left_tags ? given.tag
       and left(held.uid, -17) = given.owner
     where not exists (
       select from affected_images as other where left(other.uid, 40) = left(given.owner, 40) and other.repo = given.repo
         and left(other.uid, -17) = given.owner and other.advisory_uid = held.advisory_uid and other.end_time is null and other.tags ? given.tag)
     group by given.owner, given.repo, given.tag, held.advisory_uid`,
    [columnOf(tags, ({ owner }) => owner), columnOf(tags, ({ repo }) => repo), columnOf(tags, ({ tag }) => tag)],
    { rows: tags.length, wide: true },
  );
