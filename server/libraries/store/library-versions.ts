// Table library_versions: versions in the order of their ecosystems. A version is soft-deleted when no source publishes it.

import { mavenKey } from "#base/versions/maven.ts";
import { pep440Key } from "#base/versions/pep440.ts";
import { addParameter, columns, expression, number, orderValue, pageClause, type PageTerms, type Read, text, time, type Write } from "#db";
import { columnOf, type LibraryArtifactRecord, type RecordTarget, type Refreshed, refreshStatistics } from "#advisories/store";
import type { PageRequest } from "#base/page.ts";

const sortKeys = { ECOSYSTEM_JAVA: mavenKey, ECOSYSTEM_PYTHON: pep440Key } as const;

export interface VersionDraft {
  readonly artifact: string;
  readonly version: string;
  readonly sortKey: string;
  readonly description: string;
  readonly sizeBytes: string;
  readonly time: string;
}

export const libraryVersionsOf = (artifact: string, { ecosystem, versions }: LibraryArtifactRecord): VersionDraft[] => {
  const last = new Map(versions.map((each) => [each.version, each]));
  return [...last.values()].map(({ version, publishTime, sizeBytes, description = "" }) => ({
    artifact,
    version,
    sortKey: sortKeys[ecosystem](version),
    description,
    sizeBytes: sizeBytes === undefined ? "" : String(sizeBytes),
    time: publishTime === undefined ? "" : new Date(publishTime).toISOString(),
  }));
};

/** Writes new and changed versions, and soft-deletes those that the feed no longer has. */
export const writeLibraryVersions = async (
  rows: Write,
  { feed, nowMs }: RecordTarget,
  artifacts: readonly string[],
  versions: readonly VersionDraft[],
): Promise<void> => {
  const now = new Date(nowMs).toISOString();
  await rows.query(
    `with given as (
       select artifact, version, sort_key, description, nullif(size, '')::bigint as size, nullif(time, '')::timestamptz as time
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as given(artifact, version, sort_key, description, size, time)
     ), other as (
       select given.* from given left join library_versions as held on held.artifact_uid = artifact and held.version = given.version
       where held.version is null or held.delete_time is not null or held.size_bytes <> coalesce(size, held.size_bytes)
         or held.create_time <> coalesce(time, held.create_time) or held.sort_key <> given.sort_key
         or (given.description <> '' and held.description <> given.description)
     )
     insert into library_versions as held (artifact_uid, version, uid, sort_key, description, size_bytes, create_time, update_time, feed)
     select artifact, version, artifact || '-' || substr(encode(sha256(convert_to(version, 'UTF8')), 'hex'), 1, 16), sort_key, description,
       coalesce(size, 0), coalesce(time, $8::timestamptz), $8::timestamptz, $7 from other
     on conflict (artifact_uid, version) do update set sort_key = excluded.sort_key, delete_time = null, update_time = excluded.update_time,
       description = case when excluded.description = '' then held.description else excluded.description end,
       size_bytes = case when excluded.size_bytes = 0 then held.size_bytes else excluded.size_bytes end,
       create_time = case when excluded.create_time = $8::timestamptz then held.create_time else excluded.create_time end,
       feed = case when held.delete_time is null then held.feed else excluded.feed end`,
    [
      columnOf(versions, ({ artifact }) => artifact),
      columnOf(versions, ({ version }) => version),
      columnOf(versions, ({ sortKey }) => sortKey),
      columnOf(versions, ({ description }) => description),
      columnOf(versions, ({ sizeBytes }) => sizeBytes),
      columnOf(versions, ({ time }) => time),
      feed,
      now,
    ],
  );
  await rows.query(
    `update library_versions as held set delete_time = $4, update_time = $4
     where artifact_uid = any($1) and feed = $5 and delete_time is null
       -- Not "not exists": that walks all given ones for each that is held.
       and (artifact_uid, version) not in (select * from unnest($2::text[], $3::text[]))`,
    [artifacts, columnOf(versions, ({ artifact }) => artifact), columnOf(versions, ({ version }) => version), now, feed],
  );
};

export const withdrawLibraryVersions = async (rows: Write, { feed, nowMs }: RecordTarget, artifacts: readonly string[]): Promise<void> => {
  await rows.query("update library_versions set delete_time = $3, update_time = $3 where artifact_uid = any($1) and feed = $2 and delete_time is null", [
    artifacts,
    feed,
    new Date(nowMs).toISOString(),
  ]);
};

export interface VersionRow {
  readonly key: readonly string[];
  readonly uid: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly createTime: string;
  readonly updateTime: string;
  /** 64 bits. */
  readonly sizeBytes: string;
}

/** Equal versions (Python's "1.0" and "1.0.0") are ordered by publication time. */
const versionOrders: Readonly<Record<string, readonly string[]>> = {
  version: ["sort_key", "create_time", "version"],
  create_time: ["create_time", "version"],
  update_time: ["update_time", "version"],
};

const versionRow = columns({
  uid: text,
  version: text,
  description: text,
  createTime: time("create_time"),
  updateTime: time("update_time"),
  sizeBytes: text,
});

export const findLibraryVersions = async (rows: Read, artifact: { readonly uid: string; readonly name: string }, page: PageRequest): Promise<VersionRow[]> => {
  const order = versionOrders[page.order.column] ?? [];
  const terms: PageTerms = { values: [], terms: ["delete_time is null"] };
  terms.terms.unshift(`artifact_uid = ${addParameter(terms, artifact.uid)}`);
  const clause = pageClause(terms, order, page);
  const values = order.map(orderValue).join(", ");
  const found = await rows.query(`select ${versionRow.list}, ${values} from library_versions ${clause}`, terms.values, { rows: page.limit, wide: true });
  return found.map((row) => ({
    ...versionRow.read(row),
    name: artifact.name,
    key: row.slice(-order.length).map((value) => value ?? ""),
  }));
};

const versionCount = columns({ versions: expression("count(*)", number) });

export const countVersions = async (rows: Read, artifact: string): Promise<number> => {
  const found = await versionCount.findOne(rows, `select ${versionCount.list} from library_versions where artifact_uid = $1 and delete_time is null`, [
    artifact,
  ]);
  return found?.versions ?? 0;
};

export const refreshVersionStatistics = (rows: Write, refreshed: Refreshed): Promise<void> => refreshStatistics(rows, "library_versions", refreshed);
