// Table library_artifacts: the catalog of libraries, shared by all organizations. Sources complement each other. Rows that no source
// publishes are soft-deleted.

import { compareBytes } from "#base/versions/sort-key.ts";
import {
  addParameter,
  columns,
  containingPattern,
  expression,
  flag,
  hasTrigram,
  number,
  orderValue,
  pageClause,
  type PageTerms,
  type Read,
  type RowOf,
  text,
  time,
  wideCount,
  type Write,
} from "#db";
import {
  columnOf,
  type FindAsserted,
  lastByKey,
  type LibraryArtifactRecord,
  noCounts,
  recordDigestOf,
  type RecordTarget,
  type Refreshed,
  refreshStatistics,
  stepRows,
  uidSegmentOf,
  type WriteCounts,
} from "#advisories/store";
import type { PageRequest } from "#base/page.ts";
import { findLibraryVersions, libraryVersionsOf, type VersionRow, withdrawLibraryVersions, writeLibraryVersions } from "./library-versions.ts";

const updateVersionCounts = async (rows: Write, uids: readonly string[]): Promise<void> => {
  await rows.query(
    `update library_artifacts set latest_version = coalesce(newest.version, ''), version_count = counted.versions
     from unnest($1::text[]) as given(uid)
     left join lateral (select count(*) as versions from library_versions where artifact_uid = given.uid and delete_time is null) as counted on true
     left join lateral (
       select version from library_versions where artifact_uid = given.uid and delete_time is null
       order by artifact_uid desc, sort_key desc, create_time desc, version desc limit 1) as newest on true
     where library_artifacts.uid = given.uid`,
    [uids],
  );
};

interface ArtifactDraft {
  readonly uid: string;
  readonly record: LibraryArtifactRecord;
  readonly digest: string;
}

/** The digest includes the feed, so that records of another feed are merged. */
const artifactDraftOf = (feed: string, record: LibraryArtifactRecord): ArtifactDraft => {
  const versions = [...record.versions].sort((one, other) => compareBytes(one.version, other.version));
  return { uid: uidSegmentOf(record.ecosystem, record.name), record, digest: recordDigestOf([feed, { ...record, versions }]) };
};

const storedArtifact = columns({ uid: text, digest: expression("digests ->> $2", text) });
const namedArtifact = columns({ uid: text, name: text });

export const writeLibraries = async (rows: Write, target: RecordTarget, records: readonly LibraryArtifactRecord[]): Promise<WriteCounts> => {
  const drafts = [...lastByKey(records).values()].map((record) => artifactDraftOf(target.feed, record)).sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const found = await storedArtifact.find(rows, `select ${storedArtifact.list} from library_artifacts where uid = any($1)`, [
    drafts.map(({ uid }) => uid),
    target.feed,
  ]);
  const stored = new Map(found.map(({ uid, digest }) => [uid, digest]));
  const different = drafts.filter(({ uid, digest }) => stored.get(uid) !== digest);
  if (different.length === 0) return { ...noCounts, unchanged: drafts.length };
  await rows.query(
    `insert into library_artifacts as held (uid, ecosystem, name, description, latest_version, version_count, remediated, cuda_versions,
       search, create_time, update_time, digests)
     select uid, ecosystem, name, description, '', 0, remediated = 'true', cuda::jsonb, search, $9::timestamptz, $9::timestamptz,
       jsonb_build_object($8::text, digest)
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $10::text[])
       as given(uid, ecosystem, name, description, remediated, cuda, search, digest)
     on conflict (uid) do update set delete_time = null, digests = held.digests || excluded.digests,
       description = case when excluded.description = '' then held.description else excluded.description end,
       remediated = held.remediated or excluded.remediated,
       cuda_versions = case when excluded.cuda_versions = '[]' then held.cuda_versions else excluded.cuda_versions end,
       update_time = greatest(excluded.update_time, held.update_time + interval '1 ms')`,
    [
      columnOf(different, ({ uid }) => uid),
      columnOf(different, ({ record }) => record.ecosystem),
      columnOf(different, ({ record }) => record.name),
      columnOf(different, ({ record }) => record.description ?? ""),
      columnOf(different, ({ record }) => String(record.remediated ?? false)),
      columnOf(different, ({ record }) => JSON.stringify(record.cudaVersions ?? [])),
      columnOf(different, ({ record }) => record.name.toLowerCase()),
      target.feed,
      new Date(target.nowMs).toISOString(),
      columnOf(different, ({ digest }) => digest),
    ],
  );
  const uids = different.map(({ uid }) => uid);
  await writeLibraryVersions(
    rows,
    target,
    uids,
    different.flatMap(({ uid, record }) => libraryVersionsOf(uid, record)),
  );
  await updateVersionCounts(rows, uids);
  const made = different.filter(({ uid }) => !stored.has(uid)).length;
  return { ...noCounts, new: made, changed: different.length - made, unchanged: drafts.length - different.length };
};

/** Soft-deletes the feed's versions of artifacts that `findAsserted` does not return, and artifacts without versions. */
export const withdrawLibraries = async (rows: Write, target: RecordTarget, findAsserted: FindAsserted): Promise<number> => {
  const now = new Date(target.nowMs).toISOString();
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await namedArtifact.find(
      rows,
      `select ${namedArtifact.list} from library_artifacts where digests ? $1 and uid > $2 and delete_time is null order by uid limit ${stepRows}`,
      [target.feed, last],
    );
    const told = await findAsserted(
      found.map(({ uid }) => uid),
      found.map(({ name }) => name),
    );
    const gone = found.flatMap(({ uid }) => (told.has(uid) ? [] : [uid]));
    if (gone.length > 0) {
      await withdrawLibraryVersions(rows, target, gone);
      await updateVersionCounts(rows, gone);
      await rows.query(
        `update library_artifacts set digests = digests - $2, update_time = greatest($3, update_time + interval '1 ms'),
           delete_time = case when version_count = 0 then $3::timestamptz end where uid = any($1)`,
        [gone, target.feed, now],
      );
      withdrawn += gone.length;
    }
    const end = found.at(-1);
    if (!end) return withdrawn;
    last = end.uid;
  }
};

export interface LibraryFilter {
  readonly ecosystems: readonly string[];
  /** Substring of the name; "" for any. */
  readonly query: string;
  readonly cudaVersion: string;
  readonly remediated: boolean;
}

export interface ArtifactRow {
  readonly key: readonly string[];
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly ecosystem: string;
  readonly latestVersion: string;
  readonly versionCount: number;
  readonly createTime: string;
  readonly updateTime: string;
}

const filterTerms = ({ ecosystems, query, cudaVersion, remediated }: LibraryFilter): PageTerms => {
  const page: PageTerms = { values: [], terms: ["delete_time is null"] };
  page.terms.push(`ecosystem = any(${addParameter(page, ecosystems)})`);
  if (query !== "") {
    const contains = `search like ${addParameter(page, containingPattern(query))}`;
    page.terms.push(hasTrigram(query) ? contains : `(${contains}) is true`);
  }
  if (cudaVersion !== "") page.terms.push(`cuda_versions ? ${addParameter(page, cudaVersion)}`);
  if (remediated) page.terms.push("remediated");
  return page;
};

const artifactColumns = columns<Omit<ArtifactRow, "key">>({
  uid: text,
  name: text,
  description: text,
  ecosystem: text,
  latestVersion: text,
  versionCount: number,
  createTime: time("create_time"),
  updateTime: time("update_time"),
});

export const findArtifacts = async (rows: Read, filter: LibraryFilter, page: PageRequest): Promise<ArtifactRow[]> => {
  const terms = filterTerms(filter);
  const clause = pageClause(terms, [page.order.column, "uid"], page);
  const found = await rows.query(`select ${artifactColumns.list}, ${orderValue(page.order.column)} from library_artifacts ${clause}`, terms.values, {
    rows: page.limit,
    wide: true,
  });
  return found.map((row) => {
    const artifact = artifactColumns.read(row);
    return { ...artifact, key: [row.at(-1) ?? "", artifact.uid] };
  });
};

const ecosystemCount = columns({ ecosystem: text, artifacts: expression("count(*)", number) });

export const countArtifacts = async (rows: Read, filter: LibraryFilter): Promise<Map<string, number>> => {
  const { terms, values } = filterTerms(filter);
  const found = await ecosystemCount.find(
    rows,
    `select ${ecosystemCount.list} from library_artifacts where ${terms.join(" and ")} group by ecosystem`,
    values,
    wideCount,
  );
  return new Map(found.map(({ ecosystem, artifacts }) => [ecosystem, artifacts]));
};

const artifactName = columns({ name: text });

/** Returns a page of versions; undefined if there is no such library. */
export const findArtifactVersions = async (rows: Read, artifact: string, page: PageRequest): Promise<VersionRow[] | undefined> => {
  const found = await artifactName.findOne(rows, `select ${artifactName.list} from library_artifacts where uid = $1 and delete_time is null`, [artifact]);
  return found && findLibraryVersions(rows, { uid: artifact, name: found.name }, page);
};

export const refreshLibraryStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "library_artifacts", refreshed);

/** Python names are normalized as in PEP 503. */
export interface WantedVersion {
  readonly name: string;
  readonly sortKey: string;
}

export type FoundVersion = RowOf<typeof foundVersion>;

const foundVersion = columns({
  name: text,
  sortKey: text,
  /** Possibly spelled differently. */
  isThere: expression("coalesce(bool_or(is_there), false)", flag),
  /** "" if there is none. */
  closestVersion: expression("(array_agg(closest order by closest_key))[1]", text),
  latestVersion: expression("(array_agg(latest order by latest_key desc))[1]", text),
});

const nameExpressions = { ECOSYSTEM_JAVA: "artifact.name", ECOSYSTEM_PYTHON: "regexp_replace(artifact.search, '[-_.]+', '-', 'g')" } as const;

/** Returns those that the catalog has in any version. Libraries with the same normalized name are merged. */
export const findWantedVersions = (rows: Read, ecosystem: keyof typeof nameExpressions, wanted: readonly WantedVersion[]): Promise<FoundVersion[]> =>
  foundVersion.find(
    rows,
    `select ${foundVersion.list} from (
       select given.name, given.sort_key, exact.version is not null as is_there, closer.version as closest, closer.sort_key as closest_key,
         newest.version as latest, newest.sort_key as latest_key
       from unnest($1::text[], $2::text[]) as given(name, sort_key)
       join library_artifacts as artifact on ${nameExpressions[ecosystem]} = given.name and artifact.delete_time is null
         and artifact.ecosystem = '${ecosystem}'
       left join lateral (select version from library_versions where artifact_uid = artifact.uid and sort_key = given.sort_key and delete_time is null
         limit 1) as exact on true
       left join lateral (select version, sort_key from library_versions where artifact_uid = artifact.uid and sort_key > given.sort_key
         and delete_time is null order by artifact_uid, sort_key, create_time, version limit 1) as closer on true
       left join lateral (select version, sort_key from library_versions where artifact_uid = artifact.uid and delete_time is null
         order by artifact_uid desc, sort_key desc, create_time desc, version desc limit 1) as newest on true
     ) as found group by name, sort_key`,
    [columnOf(wanted, ({ name }) => name), columnOf(wanted, ({ sortKey }) => sortKey)],
  );
