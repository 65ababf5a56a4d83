// Tables vex_documents and vex_statements: pushed OpenVEX documents, first waiting to be read, then with their statements. Deleted with
// the repo or the manifest.

import { timestamp } from "#base/time.ts";
import { columns, expression, number, type Read, type RowOf, text, time, timeMs, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import type { PushedSbom } from "./image-sboms.ts";

/** Queues documents in the push's transaction. */
export const insertVexDocuments = async (rows: Write, repoUid: string, pushed: readonly PushedSbom[], nowMs: number): Promise<void> => {
  await rows.query(
    `insert into vex_documents (repo_uid, manifest_digest, digest, document_digest, state, create_time, try_time)
     select $1, manifest_digest, digest, document_digest, 'WAITING', $5::timestamptz, $5::timestamptz
     from unnest($2::text[], $3::text[], $4::text[]) as pushed(manifest_digest, digest, document_digest)
     on conflict do nothing`,
    [
      repoUid,
      columnOf(pushed, ({ manifestDigest }) => manifestDigest),
      columnOf(pushed, ({ digest }) => digest),
      columnOf(pushed, ({ documentDigest }) => documentDigest),
      timestamp(nowMs),
    ],
  );
};

/** The number of tries identifies the claim. */
export type WaitingVex = RowOf<typeof waitingVex>;

const waitingVex = columns({
  repoUid: expression("held.repo_uid", text),
  manifestDigest: expression("held.manifest_digest", text),
  digest: expression("held.digest", text),
  documentDigest: expression("held.document_digest", text),
  createTimeMs: timeMs("held.create_time"),
  tries: expression("held.tries", number),
});

/** Claims a due document until `untilMs`. `served` has organizations by last service; the least recently served is next. */
export const claimVexDocument = (rows: Write, served: readonly string[], nowMs: number, untilMs: number): Promise<WaitingVex | undefined> =>
  waitingVex.findOne(
    rows,
    `update vex_documents as held set try_time = $3, tries = held.tries + 1
     where (held.repo_uid, held.manifest_digest, held.digest, held.document_digest) = (
       select repo_uid, manifest_digest, digest, document_digest from vex_documents where state = 'WAITING' and try_time <= $2
       order by coalesce(array_position($1::text[], left(repo_uid, 40)), 0), try_time, repo_uid limit 1 for update skip locked)
     returning ${waitingVex.list}`,
    [served, timestamp(nowMs), timestamp(untilMs)],
  );

export const isVexDocumentDue = async (rows: Read, nowMs: number): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from vex_documents where state = 'WAITING' and try_time <= $1)", [timestamp(nowMs)]);
  return row?.[0] === "t";
};

const keyOf = ({ repoUid, manifestDigest, digest, documentDigest }: WaitingVex): string[] => [repoUid, manifestDigest, digest, documentDigest];

const claimed = "repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4 and tries = $5 and state = 'WAITING'";

export const postponeVexDocument = async (rows: Write, waiting: WaitingVex, untilMs: number): Promise<void> => {
  await rows.query(`update vex_documents set try_time = $6 where ${claimed}`, [...keyOf(waiting), waiting.tries, timestamp(untilMs)]);
};

export interface VexStatementDraft {
  readonly vulnerability: string;
  readonly number: number;
  readonly product: number;
  readonly status: string;
  /** "" if the statement has none. */
  readonly justification: string;
  readonly note: string;
  readonly timeMs: number;
  readonly productDigest: string;
  readonly packages: readonly string[];
}

/** A document of another kind loses its row. */
export type VexResult =
  | { readonly author: string; readonly statements: readonly VexStatementDraft[] }
  | { readonly problem: string }
  | { readonly isOther: true };

/** Stores the result unless another server has claimed the document since. */
export const completeVexDocument = async (rows: Write, waiting: WaitingVex, result: VexResult): Promise<void> => {
  const claim = [...keyOf(waiting), waiting.tries];
  if ("isOther" in result) {
    await rows.query(`delete from vex_documents where ${claimed}`, claim);
    return;
  }
  if ("problem" in result) {
    await rows.query(`update vex_documents set state = 'UNREADABLE', problem = $6 where ${claimed}`, [...claim, result.problem]);
    return;
  }
  const read = await rows.query(`update vex_documents set state = 'READ', author = $6 where ${claimed} returning 1`, [...claim, result.author]);
  const { statements } = result;
  if (read.length === 0 || statements.length === 0) return;
  await rows.query(
    `insert into vex_statements (repo_uid, manifest_digest, digest, document_digest, vulnerability, number, product, status, justification, note,
       statement_time, product_digest, packages)
     select $1, $2, $3, $4, vulnerability, number::integer, product::integer, status, justification, note, statement_time::timestamptz, product_digest,
       packages::jsonb
     from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
       as stated(vulnerability, number, product, status, justification, note, statement_time, product_digest, packages)`,
    [
      ...keyOf(waiting),
      columnOf(statements, ({ vulnerability }) => vulnerability),
      columnOf(statements, (each) => String(each.number)),
      columnOf(statements, ({ product }) => String(product)),
      columnOf(statements, ({ status }) => status),
      columnOf(statements, ({ justification }) => justification),
      columnOf(statements, ({ note }) => note),
      // A later time than that of the push would precede all later statements.
      columnOf(statements, ({ timeMs: stated }) => timestamp(Math.min(stated, waiting.createTimeMs))),
      columnOf(statements, ({ productDigest }) => productDigest),
      columnOf(statements, ({ packages }) => JSON.stringify(packages)),
    ],
  );
};

const repoWithVex = columns({ repoUid: expression("given.repo_uid", text) });

/** Returns those of the repos that have a readable document. */
export const findReposWithVex = async (rows: Read, repos: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = await repoWithVex.find(
    rows,
    `select ${repoWithVex.list} from unnest($1::text[]) as given(repo_uid)
     where exists (select from vex_documents as document where document.repo_uid = given.repo_uid and document.state = 'READ')`,
    [repos],
  );
  return new Set(found.map(({ repoUid }) => repoUid));
};

/** A package in an image, with one ID of a vulnerability. */
export interface JudgedPackage {
  /** Of the caller; statements have it. */
  readonly key: string;
  readonly repoUid: string;
  readonly digest: string;
  readonly vulnerability: string;
  /** Package URL without version and qualifiers. */
  readonly packageName: string;
  readonly version: string;
}

export type VexStatement = RowOf<typeof vexStatement>;

const vexStatement = columns({
  key: expression("given.key", text),
  manifestDigest: expression("found.manifest_digest", text),
  documentDigest: expression("found.document_digest", text),
  number: expression("found.number", number),
  author: expression("found.author", text),
  vulnerability: expression("found.vulnerability", text),
  status: expression("found.status", text),
  justification: expression("found.justification", text),
  note: expression("found.note", text),
  statementTime: time("found.statement_time"),
  pushTime: time("found.create_time"),
});

/** Returns up to `count` statements about each package in its image, or in the image's platforms, the latest first. */
export const findVexStatements = (rows: Read, packages: readonly JudgedPackage[], count: number): Promise<VexStatement[]> =>
  vexStatement.find(
    rows,
    `select ${vexStatement.list}
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as given(key, repo_uid, digest, vulnerability, package, version)
     cross join lateral (
       with image as (
         select given.digest as digest union
         select manifest.digest from manifests as manifest where manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest)
       select statement.manifest_digest, statement.document_digest, statement.number, document.author, statement.vulnerability, statement.status,
         statement.justification, statement.note, statement.statement_time, document.create_time
       from image
       join vex_statements as statement on statement.repo_uid = given.repo_uid and statement.digest = image.digest
         and statement.vulnerability = given.vulnerability
       join vex_documents as document on document.repo_uid = statement.repo_uid and document.manifest_digest = statement.manifest_digest
         and document.digest = statement.digest and document.document_digest = statement.document_digest
       where (statement.packages = '[]' or statement.packages ?| array[given.package, given.package || '@' || given.version])
         and (statement.product_digest = '' or statement.product_digest in (select digest from image))
       order by statement.statement_time desc, statement.manifest_digest, statement.document_digest, statement.number limit $7::integer
     ) as found`,
    [
      columnOf(packages, ({ key }) => key),
      columnOf(packages, ({ repoUid }) => repoUid),
      columnOf(packages, ({ digest }) => digest),
      columnOf(packages, ({ vulnerability }) => vulnerability),
      columnOf(packages, ({ packageName }) => packageName),
      columnOf(packages, ({ version }) => version),
      count,
    ],
  );

interface PushedImage {
  readonly repoUid: string;
  readonly digest: string;
}

export type VexDocument = RowOf<typeof vexDocument>;

const vexDocument = columns({
  repoUid: expression("given.repo_uid", text),
  digest: expression("given.digest", text),
  manifestDigest: expression("found.manifest_digest", text),
  documentDigest: expression("found.document_digest", text),
  state: expression("found.state", text),
  problem: expression("found.problem", text),
  pushTime: time("found.create_time"),
});

/** Returns up to `count` documents about each image, or about an index with it, the latest first. */
export const findVexDocuments = (rows: Read, images: readonly PushedImage[], count: number): Promise<VexDocument[]> =>
  vexDocument.find(
    rows,
    `with place as materialized (
       select repo_uid from (select distinct repo_uid from unnest($1::text[]) as each(repo_uid)) as asked
       where exists (select from vex_documents as document where document.repo_uid = asked.repo_uid)),
     part as materialized (
       select manifest.repo_uid, manifest.digest, manifest.index_digest from place join manifests as manifest on manifest.repo_uid = place.repo_uid
       where manifest.digest = any($2::text[]))
     select ${vexDocument.list} from unnest($1::text[], $2::text[]) as given(repo_uid, digest)
     join place on place.repo_uid = given.repo_uid
     cross join lateral (
       select document.manifest_digest, document.document_digest, document.state, document.problem, document.create_time
       from (
         select given.digest as digest
         union select part.index_digest from part where part.repo_uid = given.repo_uid and part.digest = given.digest) as image
       join vex_documents as document on document.repo_uid = given.repo_uid and document.digest = image.digest
       order by document.create_time desc, document.manifest_digest, document.document_digest limit $3::integer
     ) as found
     order by found.create_time desc, found.manifest_digest, found.document_digest`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest), count],
  );
