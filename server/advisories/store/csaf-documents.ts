// Table csaf_documents: list entries of imported CSAF documents, deleted with them.

import { columns, expression, flag, nullableText, nullableTimeMs, number, type Param, type Read, type RowOf, text, time, timeText, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import type { Reader } from "./visibility.ts";

export interface CsafFacts {
  readonly issuer: string;
  readonly folder: string;
  /** JSON. */
  readonly publisher: string;
  /** Without extension. */
  readonly fileName: string;
  readonly title: string;
  readonly label: string;
  /** Empty if unknown. */
  readonly initialReleaseTime: string;
  readonly currentReleaseTime: string;
  /** Why lists omit it; empty if listed. */
  readonly leftOut: string;
}

export const writeCsafDocuments = async (rows: Write, documents: readonly { readonly documentId: string; readonly facts: CsafFacts }[]): Promise<void> => {
  if (documents.length === 0) return;
  await rows.query(
    `insert into csaf_documents (document_id, issuer, folder, publisher, file_name, title, label, initial_release_time, current_release_time, left_out)
     select id::bigint, issuer, folder, publisher, name, title, label, nullif(initial, '')::timestamptz, nullif(current, '')::timestamptz, left_out
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
       as given(id, issuer, folder, publisher, name, title, label, initial, current, left_out)
     on conflict (document_id) do update set issuer = excluded.issuer, folder = excluded.folder, publisher = excluded.publisher,
       file_name = excluded.file_name, title = excluded.title, label = excluded.label, initial_release_time = excluded.initial_release_time,
       current_release_time = excluded.current_release_time, left_out = excluded.left_out`,
    [
      columnOf(documents, ({ documentId }) => documentId),
      columnOf(documents, ({ facts }) => facts.issuer),
      columnOf(documents, ({ facts }) => facts.folder),
      columnOf(documents, ({ facts }) => facts.publisher),
      columnOf(documents, ({ facts }) => facts.fileName),
      columnOf(documents, ({ facts }) => facts.title),
      columnOf(documents, ({ facts }) => facts.label),
      columnOf(documents, ({ facts }) => facts.initialReleaseTime),
      columnOf(documents, ({ facts }) => facts.currentReleaseTime),
      columnOf(documents, ({ facts }) => facts.leftOut),
    ],
  );
};

export type CsafDocument = RowOf<typeof csafDocument>;

// Showing a private document to members of its group is not publication.
const license = "case when document.public then coalesce(nullif(document.license, ''), feeds.license) else '' end";

const csafDocument = columns({
  id: expression("document.id", text),
  originId: expression("document.origin_id", text),
  /** Its own, or its source's. */
  license: expression(license, text),
  told: expression("document.told", flag),
  /** Undefined while its source has it. */
  withdrawTime: expression(timeText("case when not document.told then coalesce(document.withdraw_time, document.change_time) end"), nullableText),
  modifiedMs: nullableTimeMs("document.modify_time"),
  fileName: expression("csaf.file_name", text),
  title: expression("csaf.title", text),
  label: expression("csaf.label", text),
  initialReleaseTime: time("csaf.initial_release_time"),
  currentReleaseTime: time("csaf.current_release_time"),
  /** In full precision, for paging. */
  position: expression("csaf.current_release_time::text", text),
});

/**
 * Selects the documents that the reader sees. `reasons` for omission only concern publication, so they hide no private document. The
 * parameters follow `before` others.
 */
const listedFor = ({ visibility }: Reader, reasons: readonly string[], before: number): { readonly from: string; readonly values: readonly Param[] } => {
  const isPublic = "document.public and csaf.left_out = ''";
  const isPrivate = `not document.public and document.feed_id = any($${before + 1}::integer[])
    and (csaf.left_out = '' or csaf.left_out = any($${before + 2}::text[]))`;
  const from = `csaf_documents as csaf join source_documents as document on document.id = csaf.document_id join feeds on feeds.id = document.feed_id
    where exists (select from groups where uid = feeds.group_uid) and ${visibility === "public" ? isPublic : `((${isPublic}) or (${isPrivate}))`}`;
  return { from, values: visibility === "public" ? [] : [visibility.feeds, reasons] };
};

export interface CsafPosition {
  readonly position: string;
  readonly id: string;
}

/** Returns current documents, most recently released first; `year` filters by first release. */
export const findCsafDocuments = (
  reader: Reader,
  reasons: readonly string[],
  { folder, label, year }: { readonly folder: string; readonly label: string; readonly year: string },
  behind: CsafPosition | undefined,
  limit: number,
): Promise<CsafDocument[]> => {
  const { from, values } = listedFor(reader, reasons, 6);
  return csafDocument.find(
    reader.read,
    `select ${csafDocument.list} from ${from} and document.told and csaf.folder = $1
       and ($2 = '' or to_char(csaf.initial_release_time at time zone 'UTC', 'YYYY') = $2)
       and ($3 = '' or (csaf.current_release_time, document.id) < (nullif($3, '')::timestamptz, nullif($4, '')::bigint))
       and csaf.label = $6
     order by csaf.current_release_time desc, document.id desc limit $5`,
    [folder, year, behind?.position ?? "", behind?.id ?? "", limit, label, ...values],
    { rows: limit, wide: true },
  );
};

/** Returns the oldest import first. */
export const findCsafDocumentsNamed = (
  reader: Reader,
  reasons: readonly string[],
  folder: string,
  fileNames: readonly string[],
  limit: number,
): Promise<CsafDocument[]> => {
  const { from, values } = listedFor(reader, reasons, 3);
  return csafDocument.find(
    reader.read,
    `select ${csafDocument.list} from ${from} and csaf.folder = $1 and csaf.file_name = any($2) order by document.id limit $3`,
    [folder, fileNames, limit, ...values],
    { rows: limit, wide: true },
  );
};

/** A publisher with listed documents, per label and license. */
export type CsafIssuer = RowOf<typeof csafIssuer>;

const csafIssuer = columns({
  issuer: expression("max(csaf.issuer)", text),
  folder: expression("csaf.folder", text),
  /** JSON of the last import. */
  publisher: expression("(array_agg(csaf.publisher order by document.id desc))[1]", text),
  license: expression(license, text),
  label: expression("csaf.label", text),
  documents: expression("count(*)", number),
  currentReleaseTime: time("max(csaf.current_release_time)"),
  /** The provider metadata's URL, which may contain secrets; empty if imported otherwise. */
  source: expression("coalesce(max(feeds.source) filter (where feeds.source like 'https://%/provider-metadata.json'), '')", text),
});

export const findCsafIssuers = (reader: Reader, reasons: readonly string[], limit: number): Promise<CsafIssuer[]> => {
  const { from, values } = listedFor(reader, reasons, 1);
  return csafIssuer.find(
    reader.read,
    `select ${csafIssuer.list} from ${from} group by csaf.folder, csaf.label, ${license} order by csaf.folder limit $1`,
    [limit, ...values],
    { rows: limit, wide: true },
  );
};

/** Location in the lists, or the reason for omission. */
export type CsafPlace = RowOf<typeof csafPlace>;

const csafPlace = columns({ documentId: text, folder: text, fileName: text, leftOut: text });

export const findCsafPlaces = (rows: Read, documentIds: readonly string[]): Promise<CsafPlace[]> =>
  csafPlace.find(rows, `select ${csafPlace.list} from csaf_documents where document_id = any($1::bigint[])`, [documentIds], {
    rows: documentIds.length,
    wide: true,
  });
