// Tables vex_documents, vex_statements and vex_verifications: pushed OpenVEX documents, first waiting to be read, then with their
// statements and the trusted sources that signed them. Deleted with the repo or the manifest. Triggers queue the images of repos with
// changed verifications for matching.

import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { columns, expression, number, type Read, type RowOf, text, textList, time, timeMs, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import type { PushedSbom } from "./image-sboms.ts";
import { findTrustedKeys, type ScannedVex, shareVexSources, type TrustedKey } from "./vex-sources.ts";

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

const keyOf = ({ repoUid, manifestDigest, digest, documentDigest }: DocumentKey): string[] => [repoUid, manifestDigest, digest, documentDigest];

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
  /** Name of an image without a digest, or the package that has the packages; otherwise "". */
  readonly productName: string;
  readonly packages: readonly string[];
}

export interface ReadVexDocument {
  readonly author: string;
  readonly statements: readonly VexStatementDraft[];
  readonly isSigned: boolean;
  /** Sources whose key verifies a signature of a statement about the image. */
  readonly verifiedBy: readonly string[];
}

/** A document of another kind loses its row. */
export type VexResult = ReadVexDocument | { readonly problem: string } | { readonly isOther: true };

type DocumentKey = Pick<WaitingVex, "repoUid" | "manifestDigest" | "digest" | "documentDigest">;

const isDocument = "repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4";

const insertStatements = async (rows: Write, document: DocumentKey, statements: readonly VexStatementDraft[], createTimeMs: number): Promise<void> => {
  await rows.query(`delete from vex_statements where ${isDocument}`, keyOf(document));
  if (statements.length === 0) return;
  await rows.query(
    `insert into vex_statements (repo_uid, manifest_digest, digest, document_digest, vulnerability, number, product, status, justification, note,
       statement_time, product_digest, product_name, packages)
     select $1, $2, $3, $4, vulnerability, number::integer, product::integer, status, justification, note, statement_time::timestamptz, product_digest,
       product_name, packages::jsonb
     from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
       as stated(vulnerability, number, product, status, justification, note, statement_time, product_digest, product_name, packages)`,
    [
      ...keyOf(document),
      columnOf(statements, ({ vulnerability }) => vulnerability),
      columnOf(statements, (each) => String(each.number)),
      columnOf(statements, ({ product }) => String(product)),
      columnOf(statements, ({ status }) => status),
      columnOf(statements, ({ justification }) => justification),
      columnOf(statements, ({ note }) => note),
      // A later time than that of the push would precede all later statements.
      columnOf(statements, ({ timeMs: stated }) => timestamp(Math.min(stated, createTimeMs))),
      columnOf(statements, ({ productDigest }) => productDigest),
      columnOf(statements, ({ productName }) => productName),
      columnOf(statements, ({ packages }) => JSON.stringify(packages)),
    ],
  );
};

/** Leaves out sources that are deleted. */
const insertVerifications = async (rows: Write, document: DocumentKey, sources: readonly string[]): Promise<void> => {
  if (sources.length === 0) return;
  await rows.query(
    `insert into vex_verifications (repo_uid, manifest_digest, digest, document_digest, source_uid)
     select $1, $2, $3, $4, uid from vex_sources where uid = any($5) for key share on conflict do nothing`,
    [...keyOf(document), sources],
  );
};

const uidsOf = (keys: readonly TrustedKey[]): string => keys.map(({ uid }) => uid).join();

/**
 * Stores the result unless another server has claimed the document since. A document whose repo has other trusted sources by now
 * (`keys`: those that it was compared with) is read again.
 */
export const completeVexDocument = async (rows: Write, waiting: WaitingVex, result: VexResult, nowMs: number, keys: readonly TrustedKey[]): Promise<void> => {
  const claim = [...keyOf(waiting), waiting.tries];
  if ("isOther" in result) {
    await rows.query(`delete from vex_documents where ${claimed}`, claim);
    return;
  }
  if ("problem" in result) {
    const unreadable = await rows.query(`update vex_documents set state = 'UNREADABLE', problem = $6 where ${claimed} returning 1`, [...claim, result.problem]);
    // A restored document has statements.
    if (unreadable.length > 0) await insertStatements(rows, waiting, [], waiting.createTimeMs);
    return;
  }
  const { author, statements, isSigned, verifiedBy } = result;
  if (isSigned) {
    await shareVexSources(rows, rootOf(waiting.repoUid));
    const present = await findTrustedKeys(rows, waiting.repoUid);
    if (uidsOf(present) !== uidsOf(keys)) return postponeVexDocument(rows, waiting, nowMs);
  }
  const read = await rows.query(`update vex_documents set state = 'READ', author = $6, is_signed = $7 where ${claimed} returning 1`, [
    ...claim,
    author,
    isSigned,
  ]);
  if (read.length === 0) return;
  await insertStatements(rows, waiting, statements, waiting.createTimeMs);
  await insertVerifications(rows, waiting, verifiedBy);
};

/** Stores whether a source signed a document that was read before; its statements are those of this reading. */
export const verifyVexDocument = async (rows: Write, scanned: ScannedVex, { statements, isSigned, verifiedBy }: ReadVexDocument): Promise<void> => {
  const read = await rows.query(`update vex_documents set is_signed = $5 where ${isDocument} and state = 'READ' returning 1`, [...keyOf(scanned), isSigned]);
  if (read.length === 0 || verifiedBy.length === 0) return;
  await insertStatements(rows, scanned, statements, scanned.createTimeMs);
  await insertVerifications(rows, scanned, verifiedBy);
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
  vexSourceUids: expression(
    `(select coalesce(jsonb_agg(source_uid order by source_uid), '[]') from vex_verifications as verified where verified.repo_uid = given.repo_uid
       and verified.digest = found.digest and verified.manifest_digest = found.manifest_digest and verified.document_digest = found.document_digest)`,
    textList,
  ),
});

/** Returns up to `count` statements about each package in its image, in the image's platforms, or in an index with it, the latest first. */
export const findVexStatements = (rows: Read, packages: readonly JudgedPackage[], count: number): Promise<VexStatement[]> =>
  vexStatement.find(
    rows,
    `select ${vexStatement.list}
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as given(key, repo_uid, digest, vulnerability, package, version)
     cross join lateral (
       with image as (
         select given.digest as digest union
         select manifest.digest from manifests as manifest where manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest union
         select listed.sha256 from manifest_children as listed where listed.repo_uid = given.repo_uid and listed.child = given.digest)
       select statement.digest, statement.manifest_digest, statement.document_digest, statement.number, document.author, statement.vulnerability,
         statement.status, statement.justification, statement.note, statement.statement_time, document.create_time
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

// ---- statements that decide ---------------------------------------------------------------------------------------------

/** An image of a repo. */
export interface StatedImage {
  readonly repoUid: string;
  readonly digest: string;
}

/** A statement of a document about the image that a trusted source signed. */
export type TrustedStatement = RowOf<typeof trustedStatement>;

const trustedStatement = columns({
  repoUid: expression("image.repo_uid", text),
  digest: expression("image.digest", text),
  sourceUid: expression("source.uid", text),
  source: expression("source.name", text),
  manifestDigest: expression("statement.manifest_digest", text),
  documentDigest: expression("statement.document_digest", text),
  vulnerability: expression("statement.vulnerability", text),
  status: expression("statement.status", text),
  justification: expression("statement.justification", text),
  note: expression("statement.note", text),
  /** Digest of the platform that the statement is about; "" for the whole image. */
  platformDigest: expression("image.platform", text),
  productName: expression("statement.product_name", text),
  packages: expression("statement.packages", textList),
  timeMs: timeMs("statement.statement_time"),
});

/**
 * SQL of CTEs: `image` has what statements about each image of `given(repo_uid, digest)` may name as subject and product. A statement about
 * the image or about a tagged index with it is about the whole image, and one about a platform of the image is about this platform.
 */
const statedText = `
  place as materialized (
    select repo_uid from (select distinct repo_uid from given) as each
    where exists (select from vex_verifications where vex_verifications.repo_uid = each.repo_uid)
  ), part as materialized (
    select distinct given.repo_uid, given.digest, manifest.digest as platform from place join given on given.repo_uid = place.repo_uid
    join manifests as manifest on manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest and manifest.digest <> given.digest
  ), listing as materialized (
    select given.repo_uid, given.digest, listed.sha256 as index_digest from place join given on given.repo_uid = place.repo_uid
    join manifest_children as listed on listed.repo_uid = given.repo_uid and listed.child = given.digest
    where exists (
      select from tags where left(tags.uid, 40) = left(given.repo_uid, 40) and tags.digest = listed.sha256
        and tags.uid > given.repo_uid || '/' and tags.uid < given.repo_uid || '0')
  ), image as materialized (
    select given.repo_uid, given.digest, given.digest as subject, unnest(array['', given.digest]) as product, '' as platform
    from place join given on given.repo_uid = place.repo_uid
    union all select repo_uid, digest, digest, platform, platform from part
    union all select repo_uid, digest, platform, unnest(array['', platform]), platform from part
    union all select repo_uid, digest, index_digest, unnest(array['', index_digest, digest]), '' from listing
  )`;

/**
 * Returns the statements of trusted sources about these vulnerabilities in these images and their platforms: of each source the latest
 * about the same product. At the same time, one that leaves the finding open precedes.
 */
export const findTrustedStatements = (rows: Read, images: readonly StatedImage[], vulnerabilities: readonly string[]): Promise<TrustedStatement[]> =>
  trustedStatement.find(
    rows,
    `with given as materialized (select * from unnest($1::text[], $2::text[]) as given(repo_uid, digest)), ${statedText}
     select distinct on (image.repo_uid, image.digest, image.platform, source.uid, statement.vulnerability, statement.product_name, statement.packages)
       ${trustedStatement.list}
     from image
     join vex_verifications as verified on verified.repo_uid = image.repo_uid and verified.digest = image.subject
     join vex_sources as source on source.uid = verified.source_uid
       and left(image.repo_uid, length(source.uid) - 16) = left(source.uid, -16) and source.repo_uid in ('', image.repo_uid)
     join vex_statements as statement on statement.repo_uid = verified.repo_uid and statement.digest = verified.digest
       and statement.manifest_digest = verified.manifest_digest and statement.document_digest = verified.document_digest
       and statement.product_digest = image.product
     where statement.vulnerability = any($3)
     order by image.repo_uid, image.digest, image.platform, source.uid, statement.vulnerability, statement.product_name, statement.packages,
       statement.statement_time desc, statement.status = 'fixed' or statement.justification <> '', statement.manifest_digest,
       statement.document_digest, statement.number`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest), vulnerabilities],
  );

// ---- documents of images -----------------------------------------------------------------------------------------------

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
export const findVexDocuments = (rows: Read, images: readonly StatedImage[], count: number): Promise<VexDocument[]> =>
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
