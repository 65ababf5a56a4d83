// Table vuln_reports: scanner reports, raw and parsed. A replaced report is kept as long as counts reach back.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, number, periodRetention, type Read, type Retention, type RowOf, text, textMap, time, wideCount, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";

export interface VulnReportDraft {
  readonly repoUid: string;
  readonly digest: string;
  readonly scanner: string;
  readonly tool: string;
  readonly version: string;
  /** Undefined if the scanner does not state it. */
  readonly databaseTimeMs: number | undefined;
  readonly createTimeMs: number;
  readonly documentDigest: string;
  readonly findingCount: number;
  /** Severity by vulnerability. */
  readonly severities: string;
  /** Deflated, in base64. */
  readonly findings: string;
  readonly raw: string;
  readonly rawBytes: number;
  /** "" if not pushed with a manifest. */
  readonly manifestDigest: string;
}

const madeReport = columns({
  repoUid: expression("made.repo_uid", text),
  digest: expression("made.digest", text),
  tool: expression("made.tool", text),
});

type ReportPlace = RowOf<typeof madeReport>;

const placeColumns = (places: readonly ReportPlace[]): [string[], string[], string[]] => [
  columnOf(places, ({ repoUid }) => repoUid),
  columnOf(places, ({ digest }) => digest),
  columnOf(places, ({ tool }) => tool),
];

/** Returns the number of new ones. A known report only gets a new seen time. */
export const insertVulnReports = async (rows: Write, drafts: readonly VulnReportDraft[], nowMs: number): Promise<number> => {
  if (drafts.length === 0) return 0;
  const made = await madeReport.find(
    rows,
    `with repo as (
       -- None of them is deleted meanwhile, with all that is known of its images.
       select uid from repos where uid = any($2::text[]) order by uid for key share
     ), written as (
       insert into vuln_reports as held (repo_uid, digest, scanner, tool, version, database_time, create_time, seen_time, document_digest, finding_count,
         severities, findings, raw, raw_bytes, manifest_digest)
       select repo_uid, digest, scanner, tool, version, nullif(database_time, '')::timestamptz, create_time::timestamptz, $1::timestamptz, document_digest,
         finding_count::integer, severities::jsonb, decode(findings, 'base64'), decode(raw, 'base64'), raw_bytes::integer, manifest_digest
       from repo join unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
         $11::text[], $12::text[], $13::text[], $14::text[], $15::text[]) as draft(repo_uid, digest, scanner, tool, version, database_time, create_time,
         document_digest, finding_count, severities, findings, raw, raw_bytes, manifest_digest) on draft.repo_uid = repo.uid
       on conflict (repo_uid, digest, document_digest) do update set seen_time = greatest(held.seen_time, excluded.seen_time),
         manifest_digest = case when held.manifest_digest = '' then '' else excluded.manifest_digest end
       returning held.repo_uid, held.digest, held.tool, xmax = 0 as fresh
     ) select ${madeReport.list} from written as made where made.fresh`,
    [
      timestamp(nowMs),
      columnOf(drafts, ({ repoUid }) => repoUid),
      columnOf(drafts, ({ digest }) => digest),
      columnOf(drafts, ({ scanner }) => scanner),
      columnOf(drafts, ({ tool }) => tool),
      columnOf(drafts, ({ version }) => version),
      columnOf(drafts, ({ databaseTimeMs }) => (databaseTimeMs === undefined ? "" : timestamp(databaseTimeMs))),
      columnOf(drafts, ({ createTimeMs }) => timestamp(createTimeMs)),
      columnOf(drafts, ({ documentDigest }) => documentDigest),
      columnOf(drafts, ({ findingCount }) => String(findingCount)),
      columnOf(drafts, ({ severities }) => severities),
      columnOf(drafts, ({ findings }) => findings),
      columnOf(drafts, ({ raw }) => raw),
      columnOf(drafts, ({ rawBytes }) => String(rawBytes)),
      columnOf(drafts, ({ manifestDigest }) => manifestDigest),
    ],
  );
  if (made.length === 0) return 0;
  return byIndexes(rows, async () => {
    await replaceEarlier(rows, made, nowMs);
    await deleteOldest(rows, made);
    return made.length;
  });
};

/**
 * Runs statements that read reports image by image. A connection keeps its first query plan: planned while the table was empty, it reads
 * the whole table for each image.
 */
const byIndexes = async <T>(rows: Read, work: () => Promise<T>): Promise<T> => {
  await rows.query("select set_config('enable_seqscan', 'off', true)");
  const result = await work();
  await rows.query("select set_config('enable_seqscan', 'on', true)");
  return result;
};

const deleteOldest = async (rows: Write, places: readonly ReportPlace[]): Promise<void> => {
  await rows.query(
    `delete from vuln_reports where id = any(array(
       select gone.id from unnest($1::text[], $2::text[]) as given(repo_uid, digest) cross join lateral (
         select id from vuln_reports where digest = given.digest and repo_uid = given.repo_uid and replace_time is not null
         order by create_time desc, id desc offset $3) as gone))`,
    [...placeColumns(places).slice(0, 2), limits.reportsOfImageMax],
  );
};

/** A tool's latest report on an image is current. */
const replaceEarlier = async (rows: Write, places: readonly ReportPlace[], nowMs: number): Promise<void> => {
  await rows.query(
    `with wrong as materialized (
       select each.id, each.position = 1 as is_latest from unnest($1::text[], $2::text[], $3::text[]) as given(repo_uid, digest, tool)
       cross join lateral (
         select id, replace_time, row_number() over (order by create_time desc, id desc) as position from vuln_reports
         where digest = given.digest and repo_uid = given.repo_uid and tool = given.tool order by create_time desc, id desc limit 1000) as each
       where (each.replace_time is null) <> (each.position = 1)
     ), latest as materialized (select array(select id from wrong where is_latest) as ids)
     update vuln_reports as held set replace_time = case when held.id = any(latest.ids) then null else $4::timestamptz end
     from latest where held.id = any(array(select id from wrong))`,
    [...placeColumns(places), timestamp(nowMs)],
  );
};

const latestDocument = columns({
  repoUid: expression("report.repo_uid", text),
  digest: expression("report.digest", text),
  documentDigest: expression("report.document_digest", text),
});

export const findLatestDocuments = (
  rows: Read,
  tool: string,
  images: readonly { readonly repoUid: string; readonly digest: string }[],
): Promise<{ readonly repoUid: string; readonly digest: string; readonly documentDigest: string }[]> =>
  byIndexes(rows, () =>
    latestDocument.find(
      rows,
      `select ${latestDocument.list} from unnest($2::text[], $3::text[]) as given(repo_uid, digest) cross join lateral (
       select repo_uid, digest, document_digest from vuln_reports as held where held.digest = given.digest and held.repo_uid = given.repo_uid
         and held.tool = $1 order by held.create_time desc, held.id desc limit 1) as report`,
      [tool, columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
    ),
  );

export interface VulnReportHead {
  readonly id: string;
  readonly repoUid: string;
  readonly digest: string;
  readonly scanner: string;
  readonly tool: string;
  readonly version: string;
  /** "" if the scanner does not state it. */
  readonly databaseTime: string;
  readonly createTime: string;
  readonly seenTime: string;
  readonly findingCount: number;
}

const headColumns = {
  id: expression("report.id", text),
  repoUid: expression("report.repo_uid", text),
  digest: expression("report.digest", text),
  scanner: expression("report.scanner", text),
  tool: expression("report.tool", text),
  version: expression("report.version", text),
  databaseTime: time("report.database_time"),
  createTime: time("report.create_time"),
  seenTime: time("report.seen_time"),
  findingCount: expression("report.finding_count", number),
};

/** Deflated, in base64. */
const packed = (column: string) => expression(`replace(encode(report.${column}, 'base64'), E'\\n', '')`, text);

const reportId = columns({ id: expression("report.id", text), total: expression("count(*) over ()", number) });
const reportFindings = columns<VulnReportHead & { readonly findings: string }>({ ...headColumns, findings: packed("findings") });
const reportRaw = columns<VulnReportHead & { readonly raw: string }>({ ...headColumns, raw: packed("raw") });

export interface VulnReportFilter {
  /** Groups that the caller can read. */
  readonly places: readonly string[];
  /** "" for any, if there is a digest. */
  readonly repoUid: string;
  /** Undefined for all of the repo. */
  readonly digests: readonly string[] | undefined;
  readonly scanner: string;
  readonly version: string;
  readonly databaseTime: string;
  readonly createdSince: string;
}

/** So other organizations' reports on the same image are not read. */
const placed = `unnest($1::text[]) as place(path) cross join lateral (
  select * from vuln_reports as each where each.digest = any($3::text[]) and ($2 = '' or each.repo_uid = $2)
    and (place.path = '' or each.repo_uid = place.path or (each.repo_uid > place.path || '/' and each.repo_uid < place.path || '0')) offset 0) as report`;

const ofRepo = `vuln_reports as report join unnest($1::text[]) as place(path)
  on place.path = '' or report.repo_uid = place.path or (report.repo_uid > place.path || '/' and report.repo_uid < place.path || '0')`;

const conditions = `($4 = '' or report.scanner = $4) and ($6 = '' or report.database_time = nullif($6, '')::timestamptz(3))
  and ($7 = '' or report.create_time > nullif($7, '')::timestamptz)
  and ($5 = '' or $5 = case when report.scanner <> 'UNKNOWN' then report.version else concat_ws('/', report.tool, nullif(report.version, '')) end)`;

/** Returns report IDs, latest first, and the total. The same report in several repos is listed once. */
export const findVulnReportIds = async (
  rows: Read,
  { places, repoUid, digests, scanner, version, databaseTime, createdSince }: VulnReportFilter,
  most: number,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> => {
  const from = digests === undefined ? `${ofRepo} where report.repo_uid = $2 and $3::text[] is null and ${conditions}` : `${placed} where ${conditions}`;
  const found = await reportId.find(
    rows,
    `select ${reportId.list} from (
       select distinct on (report.digest, report.document_digest) report.id, report.create_time from ${from}
       order by report.digest, report.document_digest, report.id) as report
     order by report.create_time desc, report.id desc limit $8`,
    [places, repoUid, digests ?? null, scanner, version, databaseTime, createdSince, most],
    { rows: most, wide: true },
  );
  return { ids: found.map(({ id }) => id), total: found[0]?.total ?? 0 };
};

export const readVulnReports = async (rows: Read, ids: readonly string[]): Promise<(VulnReportHead & { readonly findings: string })[]> => {
  const found = await reportFindings.find(rows, `select ${reportFindings.list} from vuln_reports as report where id = any($1::bigint[])`, [ids]);
  const byId = new Map(found.map((report) => [report.id, report]));
  return ids.flatMap((id) => byId.get(id) ?? []);
};

/** Returns the latest report, or the one from `createTime`. */
export const findRawVulnReport = (
  rows: Read,
  {
    places,
    digest,
    scanner,
    createTime,
  }: { readonly places: readonly string[]; readonly digest: string; readonly scanner: string; readonly createTime: string },
): Promise<(VulnReportHead & { readonly raw: string }) | undefined> =>
  reportRaw.findOne(
    rows,
    `select ${reportRaw.list} from unnest($1::text[]) as place(path) cross join lateral (
       select * from vuln_reports as each where each.digest = $2 and ($3 = '' or each.scanner = $3)
         and ($4 = '' or each.create_time = nullif($4, '')::timestamptz(3))
         and (place.path = '' or each.repo_uid = place.path or (each.repo_uid > place.path || '/' and each.repo_uid < place.path || '0'))
       order by ${preferred("each")}, each.create_time desc, each.id desc limit 1) as report
     order by ${preferred("report")}, report.create_time desc, report.id desc limit 1`,
    [places, digest, scanner, createTime],
  );

/** Grype, Trivy, this server, others. */
const preferred = (alias: string): string =>
  `case ${alias}.scanner when 'GRYPE' then 0 when 'TRIVY' then 1 else case ${alias}.tool when 'gantry' then 2 else 3 end end`;

/** Returns the latest report of the preferred scanner. */
export const findVulnReport = (rows: Read, repoUid: string, digest: string): Promise<(VulnReportHead & { readonly findings: string }) | undefined> =>
  reportFindings.findOne(
    rows,
    `select ${reportFindings.list} from vuln_reports as report where repo_uid = $1 and digest = $2
     order by ${preferred("report")}, create_time desc, id desc limit 1`,
    [repoUid, digest],
  );

const goneReport = columns<ReportPlace>({ repoUid: text, digest: text, tool: text });

/** Deletes a manifest's reports, except those that an import has also provided. */
export const deleteVulnReportsOf = async (rows: Write, repoUid: string, manifestDigest: string, nowMs: number): Promise<void> => {
  const gone = await goneReport.find(
    rows,
    `delete from vuln_reports where repo_uid = $1 and manifest_digest = $2 and manifest_digest <> '' returning ${goneReport.list}`,
    [repoUid, manifestDigest],
  );
  if (gone.length > 0) await replaceEarlier(rows, gone, nowMs);
};

export interface VulnCountState {
  readonly repoUid: string;
  readonly digest: string;
  readonly scanner: string;
  readonly tool: string;
  readonly createTime: string;
  readonly severities: Readonly<Record<string, string>>;
}

const countState = columns<VulnCountState & { readonly bytes: number }>({
  repoUid: text,
  digest: text,
  scanner: text,
  tool: text,
  createTime: time("create_time"),
  severities: textMap,
  bytes: number,
});

/**
 * Returns the last report of each day by Grype, Trivy and this server. All days before `from` ("" for none) count as one. If `bytes`, the
 * size of all severities, exceeds `bytesMax`, they are not read.
 */
export const findVulnCounts = async (
  rows: Read,
  repoUid: string,
  digests: readonly string[],
  from: string,
  bytesMax: number,
): Promise<{ readonly states: readonly VulnCountState[]; readonly bytes: number }> => {
  const states = await countState.find(
    rows,
    `select ${countState.list} from (
       select id, repo_uid, digest, scanner, tool, create_time, bytes, case when bytes > $4 then '{}'::jsonb else severities end as severities from (
         select *, sum(octet_length(severities::text)) over () as bytes from (
           select distinct on (digest, tool, greatest((create_time at time zone 'UTC')::date, nullif($3, '')::date)) * from vuln_reports
           where repo_uid = $1 and digest = any($2::text[]) and (scanner <> 'UNKNOWN' or tool = 'gantry')
           order by digest, tool, greatest((create_time at time zone 'UTC')::date, nullif($3, '')::date), create_time desc, id desc) as counted
       ) as measured) as report
     order by create_time, id`,
    [repoUid, digests, from, bytesMax],
    { rows: limits.reportDaysMax, wide: true },
  );
  return { states, bytes: states[0]?.bytes ?? 0 };
};

/** A current report has no replace time. */
export const vulnReportsRetention: Retention = periodRetention("reportMs", { table: "vuln_reports", where: "replace_time < $1", order: "replace_time" });

const imageDigest = columns({ digest: text });

/** Returns the image of a tag and its platform manifests. */
export const findTagImages = async (rows: Read, repoUid: string, tag: string): Promise<string[]> => {
  const found = await imageDigest.find(rows, `select ${imageDigest.list} from tags where left(uid, -17) = $1 and name collate "POSIX" = $2`, [repoUid, tag]);
  return [
    ...new Set(
      (
        await findImagesBehind(
          rows,
          repoUid,
          found.map(({ digest }) => digest),
        )
      )
        .values()
        .flatMap((digests) => [...digests]),
    ),
  ];
};

const imageBehind = columns({ image: expression("given.digest", text), digest: expression("behind.digest", text) });

/** Returns these images with their platform manifests. SHA-512 digests are resolved to SHA-256. */
export const findImagesBehind = async (rows: Read, repoUid: string, digests: readonly string[]): Promise<Map<string, Set<string>>> => {
  const found = await imageBehind.find(
    rows,
    `select ${imageBehind.list} from unnest($2::text[]) as given(digest) cross join lateral (
       select coalesce((select sha256 from repo_manifests where repo_uid = $1 and sha512 = given.digest), given.digest) as digest) as image
     cross join lateral (
       select child as digest from manifest_children where repo_uid = $1 and sha256 = image.digest
       union select digest from manifests where repo_uid = $1 and index_digest = image.digest
       union select image.digest) as behind
     order by given.digest, behind.digest`,
    [repoUid, digests],
  );
  const images = new Map(digests.map((digest) => [digest, new Set<string>()]));
  for (const { image, digest } of found) images.get(image)?.add(digest);
  return images;
};

const knownImage = columns({ repoUid: expression("image.repo_uid", text), digest: expression("image.digest", text) });

/** Returns the repos that have an image by tag, pushed manifest or import. */
export const findReposOfImages = (rows: Read, group: string, digests: readonly string[]): Promise<{ readonly repoUid: string; readonly digest: string }[]> =>
  knownImage.find(
    rows,
    `select ${knownImage.list} from (
       select left(uid, -17) as repo_uid, digest from tags where left(uid, 40) = left($1, 40) and digest = any($2::text[])
       union select repo_uid, sha256 from repo_manifests where repo_uid > $1 and repo_uid < $1 || '0' and sha256 = any($2::text[])
       union select repo_uid, digest from manifests where repo_uid > $1 and repo_uid < $1 || '0' and digest = any($2::text[])) as image
     where image.repo_uid > $1 || '/' and image.repo_uid < $1 || '0' order by array_position($2::text[], image.digest), image.repo_uid`,
    [group, digests],
  );

const namedRepo = columns({ uid: text });

export const findReposNamed = async (rows: Read, places: readonly string[], name: string): Promise<string[]> => {
  const found = await namedRepo.find(
    rows,
    `select ${namedRepo.list} from (
       select repo.uid from unnest($1::text[]) as place(path) cross join lateral (
         select uid from repos where left(uid, 40) = left(place.path, 40) and name = $2
           and (uid = place.path or (uid > place.path || '/' and uid < place.path || '0')) offset 0) as repo
       union select uid from repos where '' = any($1::text[]) and name = $2) as named
     order by uid`,
    [places, name],
    wideCount,
  );
  return found.map(({ uid }) => uid);
};
