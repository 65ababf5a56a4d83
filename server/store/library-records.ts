// Libraries and their versions as feeds bring them. Sources add up: what one does not know of an artifact another may,
// and a version that one has no longer stays as long as another tells of it.

import { compareBytes } from "#base/versions/sort-key.ts";
import { mavenKey } from "#base/versions/maven.ts";
import { pep440Key } from "#base/versions/pep440.ts";
import { column, digestOf, lastOfEach, nothing, segmentOf, stepRows } from "./feed-rows.ts";
import type { Write } from "./handle.ts";
import type { LibraryArtifactRecord, RecordTarget, Written } from "./records.ts";

const sortKeys = { ECOSYSTEM_JAVA: mavenKey, ECOSYSTEM_PYTHON: pep440Key } as const;

interface Version {
  readonly artifact: string;
  readonly version: string;
  readonly sortKey: string;
  readonly description: string;
  readonly sizeBytes: string;
  readonly time: string;
}

const versionsOf = (artifact: string, { ecosystem, versions }: LibraryArtifactRecord): Version[] => {
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

/** Versions that are new or of which more is known now; and those that this feed alone told of and no longer does. */
const writeVersions = async (rows: Write, { feed, nowMs }: RecordTarget, artifacts: readonly string[], versions: readonly Version[]): Promise<void> => {
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
      column(versions, ({ artifact }) => artifact),
      column(versions, ({ version }) => version),
      column(versions, ({ sortKey }) => sortKey),
      column(versions, ({ description }) => description),
      column(versions, ({ sizeBytes }) => sizeBytes),
      column(versions, ({ time }) => time),
      feed,
      now,
    ],
  );
  await rows.query(
    `update library_versions as held set delete_time = $4, update_time = $4
     where artifact_uid = any($1) and feed = $5 and delete_time is null
       -- Not "not exists": that walks all given ones for each that is held.
       and (artifact_uid, version) not in (select * from unnest($2::text[], $3::text[]))`,
    [artifacts, column(versions, ({ artifact }) => artifact), column(versions, ({ version }) => version), now, feed],
  );
};

/** Counts and newest version of artifacts, from their rows. */
const settleArtifacts = (rows: Write, uids: readonly string[]): Promise<unknown> =>
  rows.query(
    `update library_artifacts set latest_version = coalesce(newest.version, ''), version_count = counted.versions
     from unnest($1::text[]) as given(uid)
     left join lateral (select count(*) as versions from library_versions where artifact_uid = given.uid and delete_time is null) as counted on true
     left join lateral (
       select version from library_versions where artifact_uid = given.uid and delete_time is null
       order by artifact_uid desc, sort_key desc, create_time desc, version desc limit 1) as newest on true
     where library_artifacts.uid = given.uid`,
    [uids],
  );

interface Draft {
  readonly uid: string;
  readonly record: LibraryArtifactRecord;
  readonly digest: string;
}

/** The feed that told it last is part of the digest: another one's record is looked at, and adds to what is there. */
const draftOf = (feed: string, record: LibraryArtifactRecord): Draft => {
  const versions = [...record.versions].sort((one, other) => compareBytes(one.version, other.version));
  return { uid: segmentOf(record.ecosystem, record.name), record, digest: digestOf([feed, { ...record, versions }]) };
};

/** Writes what is new or of which more is known than before. */
export const writeLibraries = async (rows: Write, target: RecordTarget, records: readonly LibraryArtifactRecord[]): Promise<Written> => {
  const drafts = [...lastOfEach(records).values()].map((record) => draftOf(target.feed, record)).sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const found = await rows.query("select uid, digests ->> $2 from library_artifacts where uid = any($1)", [drafts.map(({ uid }) => uid), target.feed]);
  const held = new Map(found.map(([uid, digest]) => [uid ?? "", digest ?? ""]));
  const other = drafts.filter(({ uid, digest }) => held.get(uid) !== digest);
  if (other.length === 0) return { ...nothing, unchanged: drafts.length };
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
      column(other, ({ uid }) => uid),
      column(other, ({ record }) => record.ecosystem),
      column(other, ({ record }) => record.name),
      column(other, ({ record }) => record.description ?? ""),
      column(other, ({ record }) => String(record.remediated ?? false)),
      column(other, ({ record }) => JSON.stringify(record.cudaVersions ?? [])),
      column(other, ({ record }) => record.name.toLowerCase()),
      target.feed,
      new Date(target.nowMs).toISOString(),
      column(other, ({ digest }) => digest),
    ],
  );
  const uids = other.map(({ uid }) => uid);
  await writeVersions(
    rows,
    target,
    uids,
    other.flatMap(({ uid, record }) => versionsOf(uid, record)),
  );
  await settleArtifacts(rows, uids);
  const fresh = other.filter(({ uid }) => !held.has(uid)).length;
  return { ...nothing, new: fresh, changed: other.length - fresh, unchanged: drafts.length - other.length };
};

/** Withdraws what this feed alone told of and `seen` does not know: its versions, and artifacts that have none left. */
export const withdrawLibraries = async (rows: Write, target: RecordTarget, seen: (key: string) => boolean): Promise<number> => {
  const now = new Date(target.nowMs).toISOString();
  let last = "";
  let withdrawn = 0;
  for (;;) {
    const found = await rows.query(`select uid from library_artifacts where digests ? $1 and uid > $2 and delete_time is null order by uid limit ${stepRows}`, [
      target.feed,
      last,
    ]);
    const gone = found.flatMap(([uid]) => (uid && !seen(uid) ? [uid] : []));
    if (gone.length > 0) {
      await rows.query("update library_versions set delete_time = $3, update_time = $3 where artifact_uid = any($1) and feed = $2 and delete_time is null", [
        gone,
        target.feed,
        now,
      ]);
      await settleArtifacts(rows, gone);
      await rows.query(
        `update library_artifacts set digests = digests - $2, update_time = greatest($3, update_time + interval '1 ms'),
           delete_time = case when version_count = 0 then $3::timestamptz end where uid = any($1)`,
        [gone, target.feed, now],
      );
      withdrawn += gone.length;
    }
    const end = found.at(-1)?.[0];
    if (!end) return withdrawn;
    last = end;
  }
};
