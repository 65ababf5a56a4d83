// Tables source_documents, document_records and pending_documents: original documents of sources, and the records that each asserts.
// A record exists as long as one document asserts it; the latest modified wins (docs/decisions/0022). A document that drops records is
// pending until their withdrawal is decided (docs/decisions/0073). The last one is kept, or for GANTRY_DOCUMENT_DAYS.

import { type AffectedPackage, deleteAffectedPackages, markAffectedPackagesPublic, writeAffectedPackages } from "./affected-packages.ts";
import {
  type Columns,
  columns,
  expression,
  flag,
  nullableText,
  nullableTimeMs,
  number,
  type Param,
  periodRetention,
  type Read,
  type Retention,
  type RowOf,
  text,
  textList,
  time,
  timeText,
  wideCount,
  type Write,
} from "#db";
import { type CsafFacts, writeCsafDocuments } from "./csaf-documents.ts";
import { type FeedRun, keepDocuments } from "./feed-reversals.ts";
import { arrayText, columnOf, sharedColumnOf, sharedOr } from "./feed-rows.ts";
import type { Reader } from "./visibility.ts";

export interface DocumentDraft {
  readonly form: string;
  readonly originId: string;
  readonly license: string;
  /** "" if it does not state it. */
  readonly modifyTime: string;
  readonly digest: string;
  /** Among documents with the same ID in its part. */
  readonly ordinal?: number;
  /** Why it cannot be expressed in OSV; "" if it can. */
  readonly leftOut: string;
  /** Compressed. */
  readonly body: Uint8Array;
  /** Keys of its records and their modification times. */
  readonly records: ReadonlyMap<string, string>;
  /** Empty if it has none. */
  readonly osv: OsvFacts;
  readonly csaf?: CsafFacts | undefined;
}

/** Lookup fields in OSV form. */
export interface OsvFacts {
  /** As written. */
  readonly modified: string;
  /** Without release. */
  readonly ecosystems: readonly string[];
  /** Empty if withdrawn. */
  readonly packages: readonly AffectedPackage[];
  readonly withdrawn: string;
}

/** Of one part of a file. */
export interface DocumentPart {
  readonly name: string;
  readonly part: number;
  /** Some lines were rejected, so earlier records are not treated as removed. */
  readonly isPartial: boolean;
  readonly documents: readonly DocumentDraft[];
}

export interface DocumentTarget {
  readonly feed: string;
  /** Undefined to leave it unchanged. */
  readonly public: boolean | undefined;
  readonly run: number;
  /** Allows documents that were modified earlier. */
  readonly allowOlder: boolean;
  readonly nowMs: number;
}

export interface WrittenDocument {
  readonly id: string;
  /** The stored one was modified later and is kept. */
  readonly isOlder: boolean;
  /** When the kept one was modified. */
  readonly keptModifiedMs: number | undefined;
  readonly public: boolean;
  /** If it existed. */
  readonly wasPublic: boolean | undefined;
  /** Its source did not have it in the last run. */
  readonly isNew: boolean;
  /** The stored version is kept until the withdrawal of dropped records is decided. */
  readonly isPending: boolean;
}

export interface DroppedKey {
  readonly file: string;
  readonly part: number;
  readonly key: string;
  readonly originId: string;
}

export interface WrittenDocuments {
  readonly documents: readonly WrittenDocument[];
  readonly dropped: readonly DroppedKey[];
  /** They had one document before and have one now. */
  readonly singles: readonly Pick<DroppedKey, "file" | "part">[];
}

/** Increment it when affected_packages is extended, so that the next import rewrites them. */
const indexVersion = 1;

const storedDocument = columns({
  id: text,
  file: text,
  part: number,
  form: text,
  originId: text,
  ordinal: number,
  digest: text,
  license: text,
  leftOut: text,
  public: flag,
  told: flag,
  missing: flag,
  modifiedMs: nullableTimeMs("modify_time"),
  isIndexed: expression(
    `ecosystems is not null and index_version = ${indexVersion}
     and (form <> 'csaf' or exists (select from csaf_documents where document_id = source_documents.id))`,
    flag,
  ),
});
const placedDocument = columns({ id: text, file: text, part: number, form: text, originId: text, ordinal: number });

const placeOf = (file: string, part: number, form: string, originId: string, ordinal: number): string => JSON.stringify([file, part, form, originId, ordinal]);

interface PlacedDraft {
  readonly file: string;
  readonly part: number;
  readonly ordinal: number;
  readonly place: string;
  readonly draft: DocumentDraft;
}

const placedDrafts = ({ name, part, documents }: DocumentPart): PlacedDraft[] => {
  const seen = new Map<string, number>();
  return documents.map((draft) => {
    const number = `${draft.form} ${draft.originId}`;
    const ordinal = draft.ordinal ?? seen.get(number) ?? 0;
    seen.set(number, ordinal + 1);
    return { file: name, part, ordinal, place: placeOf(name, part, draft.form, draft.originId, ordinal), draft };
  });
};

const originOf = columns({ originId: text });
const markedDocument = columns({ id: text, originId: text });

const findPublicOrigins = async (rows: Read, feed: string, originIds: readonly string[]): Promise<Set<string>> => {
  const found = await originOf.find(
    rows,
    `select distinct origin_id from source_documents
     where origin_id = any($2) and public and feed_id in (
       select other.id from feeds as other join feeds as own on other.kind = own.kind and other.group_uid = own.group_uid where own.id = $1)`,
    [feed, [...new Set(originIds)]],
  );
  return new Set(found.map(({ originId }) => originId));
};

type InsertedDocument = Pick<PlacedDraft, "file" | "part" | "ordinal"> & { readonly id: string; readonly form: string; readonly originId: string };

const replacingDocument = `on conflict (feed_id, file, part, form, origin_id, ordinal) do update set digest = excluded.digest, license = excluded.license,
  public = excluded.public, left_out = excluded.left_out, told = true, missing = false, modify_time = excluded.modify_time,
  import_time = case when held.digest = excluded.digest then held.import_time else excluded.import_time end,
  change_time = greatest(excluded.change_time, held.change_time + interval '1 ms'), body = excluded.body, ecosystems = excluded.ecosystems,
  index_version = excluded.index_version, withdraw_time = excluded.withdraw_time`;

/** @param conflict "" for new documents: a check for each row costs a tenth of its insert, and the feed is locked. */
const insertDocuments = async (
  rows: Write,
  { feed, run, nowMs }: Pick<DocumentTarget, "feed" | "run" | "nowMs">,
  given: readonly PlacedDraft[],
  isPublic: (each: PlacedDraft) => boolean,
  conflict: string,
): Promise<InsertedDocument[]> =>
  given.length === 0
    ? []
    : placedDocument.find(
        rows,
        `insert into source_documents as held (feed_id, file, part, form, origin_id, ordinal, digest, license, public, left_out, told, modify_time,
           import_time, change_time, body, ecosystems, index_version, added_run, withdraw_time)
         select $1::integer, ${sharedOr("file", 3)}, ${sharedOr("part", 4)}::integer, ${sharedOr("form", 5)}, origin_id, ${sharedOr("ordinal", 7)}::integer,
           digest, ${sharedOr("license", 9)}, ${sharedOr("public", 10)} = 'true', ${sharedOr("left_out", 11)}, true, nullif(modified, '')::timestamptz,
           $2::timestamptz, $2::timestamptz, body, ${sharedOr("ecosystems", 14)}::text[], ${indexVersion}, $15::integer,
           nullif(${sharedOr("withdrawn", 16)}, '')::timestamptz
         from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bytea[],
           $14::text[], $16::text[])
           as given(file, part, form, origin_id, ordinal, digest, license, public, left_out, modified, body, ecosystems, withdrawn)
         ${conflict}
         returning ${placedDocument.list}`,
        [
          feed,
          new Date(nowMs).toISOString(),
          sharedColumnOf(given, ({ file }) => file),
          sharedColumnOf(given, ({ part }) => String(part)),
          sharedColumnOf(given, ({ draft }) => draft.form),
          columnOf(given, ({ draft }) => draft.originId),
          sharedColumnOf(given, ({ ordinal }) => String(ordinal)),
          columnOf(given, ({ draft }) => draft.digest),
          sharedColumnOf(given, ({ draft }) => draft.license),
          sharedColumnOf(given, (each) => String(isPublic(each))),
          sharedColumnOf(given, ({ draft }) => draft.leftOut),
          columnOf(given, ({ draft }) => draft.modifyTime),
          columnOf(given, ({ draft }) => draft.body),
          sharedColumnOf(given, ({ draft }) => arrayText(draft.osv.ecosystems)),
          run,
          sharedColumnOf(given, ({ draft }) => draft.osv.withdrawn),
        ],
      );

/** Writes documents and their records, and marks what a part no longer has. `findKnownPublic` returns the IDs with a public record. */
export const writeDocuments = async (
  rows: Write,
  { feed, public: said, run, allowOlder, nowMs }: DocumentTarget,
  parts: readonly DocumentPart[],
  findKnownPublic: (originIds: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<WrittenDocuments> => {
  const given = parts.flatMap(placedDrafts);
  const places = [columnOf(parts, ({ name }) => name), columnOf(parts, ({ part }) => String(part))];
  const stored = await storedDocument.find(
    rows,
    // Part by part, in the order of the index that has it: the planner knows no statistics of a table that has just been filled, and
    // otherwise reads all documents of the source.
    `select ${storedDocument.list} from source_documents where id = any(array(
       select held.id from unnest($2::text[], $3::text[]) as given(file, part)
       cross join lateral (
         select id from source_documents where feed_id = $1 and file = given.file and part = given.part::integer
         order by feed_id, file, part, form, origin_id, ordinal offset 0) as held))`,
    [feed, ...places],
  );
  const before = new Map(stored.map((each) => [placeOf(each.file, each.part, each.form, each.originId, each.ordinal), each]));
  const unknown = said === undefined ? given.filter(({ place }) => !before.has(place)).map(({ draft }) => draft.originId) : [];
  const publicOrigins = unknown.length > 0 ? new Set([...(await findPublicOrigins(rows, feed, unknown)), ...(await findKnownPublic(unknown))]) : new Set();
  const isPublic = ({ place, draft }: PlacedDraft): boolean => said ?? before.get(place)?.public ?? publicOrigins.has(draft.originId);
  const older = allowOlder ? new Map<string, NewerDocument>() : await findNewer(rows, feed, given, before, nowMs);
  await keepNewer(rows, [...older.values()]);
  const changed = given.filter((each) => {
    const known = before.get(each.place);
    if (older.has(each.place)) return false;
    return (
      !known?.told ||
      !known.isIndexed ||
      known.digest !== each.draft.digest ||
      known.license !== each.draft.license ||
      known.leftOut !== each.draft.leftOut ||
      known.public !== isPublic(each)
    );
  });
  const ids = new Map([...before].map(([place, { id }]) => [place, id]));
  const knownIds = (some: readonly PlacedDraft[]): { id: string; draft: DocumentDraft }[] =>
    some.flatMap(({ place, draft }) => (before.get(place)?.told ? [{ id: ids.get(place) ?? "", draft }] : []));
  const narrowed = await findDroppedRecords(rows, knownIds(changed));
  // An undo restores everything at once.
  const pending = new Set(run === 0 ? [] : narrowed.map(({ documentId: id }) => id));
  if (run === 0) await markRecordsMissing(rows, narrowed);
  await deletePending(
    rows,
    knownIds(given).flatMap(({ id }) => (pending.has(id) ? [] : [id])),
  );
  await writePending(
    rows,
    knownIds(changed).filter(({ id }) => pending.has(id)),
    narrowed,
  );
  const isPending = (place: string): boolean => before.get(place)?.told === true && pending.has(ids.get(place) ?? "");
  const different = changed.filter(({ place }) => !isPending(place));
  await keepDocuments(
    rows,
    { feed, run },
    different.flatMap(({ place }) => before.get(place)?.id ?? []),
  );
  const [known, fresh] = [different.filter(({ place }) => before.has(place)), different.filter(({ place }) => !before.has(place))];
  for (const [some, conflict] of [
    [known, replacingDocument],
    [fresh, ""],
  ] as const) {
    const written = await insertDocuments(rows, { feed, run, nowMs }, some, isPublic, conflict);
    for (const { id, file, part, form, originId, ordinal } of written) ids.set(placeOf(file, part, form, originId, ordinal), id);
  }
  const isDifferent = new Set(different.map(({ place }) => place));
  const returned = given.filter(({ place }) => before.get(place)?.missing === true && !isDifferent.has(place) && !older.has(place) && !isPending(place));
  await rows.query("update source_documents set missing = false where id = any($1::bigint[])", [returned.map(({ place }) => ids.get(place) ?? "")]);
  const recordsOf = (some: readonly PlacedDraft[]): DocumentRecords[] => some.map(({ place, draft }) => ({ id: ids.get(place) ?? "", records: draft.records }));
  await writeDocumentRecords(rows, recordsOf([...known, ...returned]), replacingRecord);
  await writeDocumentRecords(rows, recordsOf(fresh), "");
  await writeAffectedPackages(
    rows,
    different.map((each) => ({ documentId: ids.get(each.place) ?? "", originId: each.draft.originId, public: isPublic(each), ...each.draft.osv })),
  );
  await writeCsafDocuments(
    rows,
    different.flatMap(({ place, draft: { csaf } }) => (csaf ? [{ documentId: ids.get(place) ?? "", facts: csaf }] : [])),
  );
  const now = new Set(given.map(({ place }) => place));
  const partial = new Set(parts.filter(({ isPartial }) => isPartial).map(({ name, part }) => JSON.stringify([name, part])));
  const moved = new Set([...older.values()].map(({ id }) => id));
  const gone = [...before].filter(
    ([place, { id, told, file, part }]) => told && !now.has(place) && !moved.has(id) && !partial.has(JSON.stringify([file, part])),
  );
  const vanished = await markMissing(
    rows,
    gone.map(([, { id }]) => id),
  );
  const byId = new Map(stored.map((each) => [each.id, each]));
  const toldBefore = stored.filter(({ told }) => told);
  return {
    documents: given.map((each) => ({
      id: ids.get(each.place) ?? "",
      isOlder: older.has(each.place),
      keptModifiedMs: older.get(each.place)?.modifiedMs,
      public: isPublic(each),
      wasPublic: before.get(each.place)?.public,
      isNew: !before.get(each.place)?.told || before.get(each.place)?.missing === true,
      isPending: isPending(each.place),
    })),
    dropped: [...narrowed, ...vanished].flatMap(({ documentId: id, key }) => {
      const document = byId.get(id);
      return document ? [{ file: document.file, part: document.part, key, originId: document.originId }] : [];
    }),
    singles: parts.flatMap(({ name, part, documents }) =>
      documents.length === 1 && toldBefore.filter((each) => each.file === name && each.part === part).length === 1 ? [{ file: name, part }] : [],
    ),
  };
};

interface NewerDocument {
  readonly id: string;
  readonly modifiedMs: number | undefined;
  /** Undefined if unchanged. */
  readonly to: PlacedDraft | undefined;
}

const movableDocument = columns({ id: text, form: text, originId: text, modifiedMs: nullableTimeMs("modify_time") });

/** Documents of long files move between parts, so a new one is also compared with the same ID elsewhere. */
const findNewer = async (
  rows: Read,
  feed: string,
  given: readonly PlacedDraft[],
  before: ReadonlyMap<string, { readonly id: string; readonly told: boolean; readonly modifiedMs: number | undefined }>,
  nowMs: number,
): Promise<Map<string, NewerDocument>> => {
  const dated = given.filter(({ draft }) => draft.modifyTime !== "");
  const newer = new Map<string, NewerDocument>();
  const unknown: PlacedDraft[] = [];
  for (const each of dated) {
    const known = before.get(each.place);
    if (!known) unknown.push(each);
    else if (known.told && (known.modifiedMs ?? 0) > Date.parse(each.draft.modifyTime)) newer.set(each.place, { ...known, to: undefined });
  }
  if (unknown.length === 0) return newer;
  const found = await movableDocument.find(
    rows,
    // Number by number, by the index, as with findAssertions.
    `select ${movableDocument.list} from source_documents where id = any(array(
       select held.id from unnest($3::text[], $4::text[]) as given(origin_id, form)
       cross join lateral (
         select id, feed_id from source_documents
         where origin_id = given.origin_id and form = given.form and told and import_time < $2::timestamptz offset 0) as held
       where held.feed_id = $1::integer))
     order by modify_time nulls first, id`,
    [feed, new Date(nowMs).toISOString(), columnOf(unknown, ({ draft }) => draft.originId), columnOf(unknown, ({ draft }) => draft.form)],
  );
  const latest = new Map(found.map((each) => [`${each.form} ${each.originId}`, each]));
  for (const each of unknown) {
    const number = `${each.draft.form} ${each.draft.originId}`;
    const known = latest.get(number);
    if (!known || (known.modifiedMs ?? 0) <= Date.parse(each.draft.modifyTime)) continue;
    newer.set(each.place, { ...known, to: each });
    // One document moves to one place.
    latest.delete(number);
  }
  return newer;
};

/** Moves them to where the source has the earlier ones. */
const keepNewer = async (rows: Write, newer: readonly NewerDocument[]): Promise<void> => {
  if (newer.length === 0) return;
  const ids = newer.map(({ id }) => id);
  await rows.query("update source_documents set missing = false where id = any($1::bigint[])", [ids]);
  await rows.query("update document_records set missing = false where document_id = any($1::bigint[]) and missing", [ids]);
  const moved = newer.flatMap(({ id, to }) => (to ? [{ id, to }] : []));
  if (moved.length === 0) return;
  await rows.query(
    `update source_documents as held set file = given.file, part = given.part::integer, ordinal = given.ordinal::integer
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given(id, file, part, ordinal) where held.id = given.id::bigint`,
    [
      columnOf(moved, ({ id }) => id),
      columnOf(moved, ({ to }) => to.file),
      columnOf(moved, ({ to }) => String(to.part)),
      columnOf(moved, ({ to }) => String(to.ordinal)),
    ],
  );
};

const documentId = columns({ id: text });
const missingRecord = columns({ documentId: text, key: expression("record_key", text) });

const findDroppedRecords = async (
  rows: Read,
  documents: readonly { readonly id: string; readonly draft: DocumentDraft }[],
): Promise<{ readonly documentId: string; readonly key: string }[]> => {
  if (documents.length === 0) return [];
  const given = documents.flatMap(({ id, draft }) => [...draft.records.keys()].map((key) => ({ id, key })));
  return missingRecord.find(
    rows,
    `select ${missingRecord.list} from document_records as held where document_id = any($1::bigint[]) and told and not exists (
       select from unnest($2::text[], $3::text[]) as given(id, key) where given.id::bigint = held.document_id and given.key = held.record_key)`,
    [documents.map(({ id }) => id), columnOf(given, ({ id }) => id), columnOf(given, ({ key }) => key)],
  );
};

/** They are unchanged or have all their records. */
const deletePending = async (rows: Write, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return;
  const deleted = await documentId.find(rows, "delete from pending_documents where document_id = any($1::bigint[]) returning document_id as id", [ids]);
  await rows.query("update document_records set missing = false where document_id = any($1::bigint[]) and missing", [deleted.map(({ id }) => id)]);
};

const markRecordsMissing = async (rows: Write, records: readonly { readonly documentId: string; readonly key: string }[]): Promise<void> => {
  if (records.length === 0) return;
  await rows.query(
    `update document_records as held set missing = true from unnest($1::text[], $2::text[]) as given(id, key)
     where held.document_id = given.id::bigint and held.record_key = given.key`,
    [columnOf(records, ({ documentId: id }) => id), columnOf(records, ({ key }) => key)],
  );
};

/** Also marks the records that they dropped. */
const writePending = async (
  rows: Write,
  documents: readonly { readonly id: string; readonly draft: DocumentDraft }[],
  dropped: readonly { readonly documentId: string; readonly key: string }[],
): Promise<void> => {
  if (documents.length === 0) return;
  const ids = documents.map(({ id }) => id);
  await rows.query(
    `insert into pending_documents (document_id, body)
     select id::bigint, body from unnest($1::text[], $2::bytea[]) as given(id, body)
     on conflict (document_id) do update set body = excluded.body`,
    [ids, columnOf(documents, ({ draft }) => draft.body)],
  );
  await rows.query("update source_documents set missing = false where id = any($1::bigint[]) and missing", [ids]);
  await rows.query("update document_records set missing = false where document_id = any($1::bigint[]) and missing", [ids]);
  await markRecordsMissing(rows, dropped);
};

export type PendingDocument = RowOf<typeof pendingDocument>;

const pendingDocument = columns({
  id: expression("document.id", text),
  file: expression("document.file", text),
  part: expression("document.part", number),
  form: expression("document.form", text),
  ordinal: expression("document.ordinal", number),
  body: expression("translate(encode(pending.body, 'base64'), E'\\n', '')", text),
});

/** Takes documents without missing records: their withdrawal was decided. */
export const takePendingDocuments = (rows: Write, feed: string, limit: number): Promise<PendingDocument[]> =>
  pendingDocument.find(
    rows,
    `with taken as (
       delete from pending_documents where document_id in (
         select pending.document_id from pending_documents as pending join source_documents as document on document.id = pending.document_id
         where document.feed_id = $1 and not exists (select from document_records where document_id = pending.document_id and missing) limit $2)
       returning document_id, body)
     select ${pendingDocument.list} from taken as pending join source_documents as document on document.id = pending.document_id
     where document.told order by document.id`,
    [feed, limit],
  );

interface DocumentRecords {
  readonly id: string;
  readonly records: ReadonlyMap<string, string>;
}

const replacingRecord = "on conflict (document_id, record_key) do update set modify_time = excluded.modify_time, told = true, missing = false";

const writeDocumentRecords = async (rows: Write, documents: readonly DocumentRecords[], conflict: string): Promise<void> => {
  const told = documents.flatMap(({ id, records }) => [...records].map(([key, modified]) => ({ id, key, modified })));
  if (told.length === 0) return;
  await rows.query(
    `insert into document_records as held (document_id, record_key, modify_time, told)
     select id::bigint, key, nullif(modified, '')::timestamptz, true from unnest($1::text[], $2::text[], $3::text[]) as given(id, key, modified)
     ${conflict}`,
    [columnOf(told, ({ id }) => id), columnOf(told, ({ key }) => key), columnOf(told, ({ modified }) => modified)],
  );
};

/** Returns their records, which remain effective until releaseMissing. */
export const markMissing = async (rows: Write, ids: readonly string[]): Promise<{ readonly documentId: string; readonly key: string }[]> => {
  if (ids.length === 0) return [];
  await rows.query("delete from pending_documents where document_id = any($1::bigint[])", [ids]);
  await rows.query("update source_documents set missing = true where id = any($1::bigint[])", [ids]);
  return missingRecord.find(rows, `update document_records set missing = true where document_id = any($1::bigint[]) and told returning ${missingRecord.list}`, [
    ids,
  ]);
};

const toldOrigin = columns({ originId: text });

export const findAssertedOrigins = async (rows: Read, feed: string, originIds: readonly string[]): Promise<Set<string>> => {
  if (originIds.length === 0) return new Set();
  const found = await toldOrigin.find(
    rows,
    `select distinct ${toldOrigin.list} from unnest($2::text[]) as given(number)
     cross join lateral (select origin_id, feed_id from source_documents where origin_id = given.number and told offset 0) as document
     where document.feed_id = $1`,
    [feed, originIds],
  );
  return new Set(found.map(({ originId }) => originId));
};

export const markDocumentsMissing = async (rows: Write, feed: string, gone: readonly { readonly name: string; readonly part: number }[]): Promise<void> => {
  const found = await documentId.find(
    rows,
    `select ${documentId.list} from source_documents
     where feed_id = $1 and told and (file, part) in (select file, part::integer from unnest($2::text[], $3::text[]) as given(file, part))`,
    [feed, columnOf(gone, ({ name }) => name), columnOf(gone, ({ part }) => String(part))],
  );
  await markMissing(
    rows,
    found.map(({ id }) => id),
  );
};

/** All, or those that another document of the source still has. */
export type Released = "all" | "moved";

const recordReleases: Readonly<Record<Released, string>> = {
  all: "true",
  moved: `exists (
    select from document_records as other join source_documents as its on its.id = other.document_id
    where other.record_key = record.record_key and other.told and not other.missing and its.feed_id = $1)`,
};

const documentReleases: Readonly<Record<Released, string>> = {
  all: "true",
  moved: `exists (
    select from source_documents as other
    where other.origin_id = document.origin_id and other.form = document.form and other.feed_id = $1 and other.told and not other.missing)`,
};

/** Removes missing documents and records from their source; takeGoneRecords then returns the records. */
export const releaseMissing = async (rows: Write, { feed, run }: FeedRun, released: Released, nowMs: number): Promise<void> => {
  const ids = await documentId.find(
    rows,
    `select ${documentId.list} from source_documents as document where feed_id = $1 and missing and told and ${documentReleases[released]}`,
    [feed],
  );
  const gone = ids.map(({ id }) => id);
  await keepDocuments(rows, { feed, run }, gone);
  await rows.query(
    // With the statistics of freshly filled tables the planner would read all rows.
    `with absent as materialized (
       select document_id, record_key from document_records as given
       where missing and (select feed_id from source_documents where id = given.document_id) = $1)
     update document_records as record set told = false, missing = false from absent
     where record.document_id = absent.document_id and record.record_key = absent.record_key and ${recordReleases[released]}`,
    [feed],
  );
  await rows.query(
    `update source_documents set told = false, missing = false, withdraw_time = coalesce(withdraw_time, $2),
       change_time = greatest($2, change_time + interval '1 ms') where id = any($1::bigint[])`,
    [gone, new Date(nowMs).toISOString()],
  );
  // Scanners do not get withdrawn documents.
  await deleteAffectedPackages(rows, gone);
};

export const clearMissing = async (rows: Write, feed: string): Promise<void> => {
  await rows.query(
    `update document_records as record set missing = false from source_documents as document
     where document.id = record.document_id and document.feed_id = $1 and record.missing`,
    [feed],
  );
  await rows.query("update source_documents set missing = false where feed_id = $1 and missing", [feed]);
  await rows.query("delete from pending_documents using source_documents as document where document.id = document_id and document.feed_id = $1", [feed]);
};

export type MissingRecords = RowOf<typeof missingRecords>;

const missingRecords = columns({
  records: expression("count(*)", number),
  digest: expression("coalesce(md5(string_agg(key, ' ' order by key)), '')", text),
});

/** Counts missing records, and missing documents without records. */
export const countMissing = async (rows: Read, feed: string): Promise<MissingRecords> => {
  const found = await missingRecords.findOne(
    rows,
    `select ${missingRecords.list} from (
       select distinct record.record_key as key from document_records as record join source_documents as document on document.id = record.document_id
       where document.feed_id = $1 and record.missing
       union
       select document.form || ' ' || document.origin_id from source_documents as document
       where document.feed_id = $1 and document.missing and not exists (select from document_records where document_id = document.id)) as gone`,
    [feed],
  );
  return found ?? { records: 0, digest: "" };
};

const fileName = columns({ file: expression("distinct file", text) });

/** Returns the files outside `kept` with documents of these forms that no file in `kept` has. */
export const findFilesOfForms = async (rows: Read, feed: string, forms: readonly string[], kept: Iterable<string>): Promise<string[]> => {
  const found = await fileName.find(
    rows,
    `select ${fileName.list} from source_documents as document where feed_id = $1 and told and form = any($2) and file <> all($3) and not exists (
       select from source_documents as other where other.origin_id = document.origin_id and other.form = document.form and other.feed_id = $1
         and other.told and not other.missing and other.file = any($3))`,
    [feed, forms, [...kept]],
  );
  return found.map(({ file }) => file);
};

/** Marks the documents that a run added as missing, to undo it. */
export const releaseAdded = async (rows: Write, { feed, run }: FeedRun): Promise<void> => {
  const added = await documentId.find(rows, `select ${documentId.list} from source_documents where feed_id = $1 and added_run = $2 and told`, [feed, run]);
  await markMissing(
    rows,
    added.map(({ id }) => id),
  );
};

export type GoneRecord = RowOf<typeof goneRecord>;

const goneRecord = columns({
  documentId: expression("gone.document_id", text),
  key: expression("gone.record_key", text),
  originId: expression("gone.origin_id", text),
  public: expression("gone.public", flag),
});

/** Takes records for which another document must be found; empty when done. */
export const takeGoneRecords = async (rows: Write, feed: string, limit: number): Promise<GoneRecord[]> =>
  goneRecord.find(
    rows,
    `with gone as (
       select document_id, record_key, origin_id, public from document_records as record join source_documents as document on document.id = record.document_id
       where document.feed_id = $1 and not record.told limit $2),
     taken as (
       delete from document_records using gone
       where document_records.document_id = gone.document_id and document_records.record_key = gone.record_key)
     select ${goneRecord.list} from gone`,
    [feed, limit],
  );

/** Deletes removed documents if another one has the same ID in the kind and group. */
export const deleteReplacedDocuments = async (rows: Write, feed: string): Promise<void> => {
  await rows.query(
    `delete from source_documents as gone using feeds as own
     where gone.feed_id = $1 and not gone.told and own.id = $1 and exists (
       select from source_documents as other join feeds on feeds.id = other.feed_id
       where other.origin_id = gone.origin_id and other.form = gone.form and other.id <> gone.id and feeds.kind = own.kind
         and feeds.group_uid = own.group_uid and (other.told or other.id > gone.id))`,
    [feed],
  );
};

/** A document that asserts a record. */
export type Assertion = RowOf<typeof assertion>;

const assertion = columns({
  key: expression("record.record_key", text),
  id: expression("document.id", text),
  form: expression("document.form", text),
  originId: expression("document.origin_id", text),
  feed: expression("feeds.source", text),
  public: expression("document.public", flag),
  license: expression("coalesce(nullif(document.license, ''), feeds.license)", text),
  /** Of the record; undefined if unknown. */
  modifiedMs: nullableTimeMs("record.modify_time"),
  storedBytes: expression("document.stored_bytes", number),
});

/**
 * Returns the documents that assert these records, oldest first; of all groups if `group` is undefined.
 * @param before excludes this document and later ones
 */
export const findAssertions = (rows: Read, kind: string, group: string | undefined, keys: readonly string[], before?: string): Promise<Assertion[]> =>
  assertion.find(
    rows,
    // By index: without statistics of freshly filled tables the planner reads all rows.
    `select ${assertion.list} from unnest($1::text[]) as given(key)
     cross join lateral (
       select record_key, document_id, modify_time from document_records
       where record_key = given.key and told and ($4::bigint is null or document_id < $4) offset 0) as record
     cross join lateral (
       select id, feed_id, form, origin_id, public, license, octet_length(body) as stored_bytes
       from source_documents where id = record.document_id offset 0) as document
     join feeds on feeds.id = document.feed_id
     where feeds.kind = $2 and ($3::text is null or feeds.group_uid = $3) order by document.id`,
    [keys, kind, group ?? null, before ?? null],
  );

/** Returns documents by ID with all their records, oldest first. Only IDs that at least `least` documents have. */
export const findAssertionsOfNumbers = (
  rows: Read,
  { kind, group, forms, least }: { readonly kind: string; readonly group: string; readonly forms: readonly string[]; readonly least: number },
  numbers: readonly string[],
): Promise<Assertion[]> =>
  assertion.find(
    rows,
    // As in findAssertions.
    `with named as materialized (
       select document.*, count(*) over (partition by document.origin_id) as documents from unnest($1::text[]) as given(number)
       cross join lateral (
         select id, feed_id, form, origin_id, public, license, octet_length(body) as stored_bytes from source_documents
         where origin_id = given.number and form = any($2) and told offset 0) as document
       join feeds on feeds.id = document.feed_id where feeds.kind = $3 and feeds.group_uid = $4)
     select ${assertion.list} from (select * from named where documents >= $5) as document
     cross join lateral (select record_key, modify_time from document_records where document_id = document.id and told offset 0) as record
     join feeds on feeds.id = document.feed_id order by document.id`,
    [numbers, forms, kind, group, least],
  );

export type StoredDocument = RowOf<typeof storedBody>;

const storedBody = columns({
  id: expression("document.id", text),
  form: expression("document.form", text),
  author: expression("feeds.author", text),
  body: expression("translate(encode(document.body, 'base64'), E'\\n', '')", text),
});

/** Returns documents by ID. Pass few at once, because they may be large (storedBytes). */
export const findSourceDocuments = (rows: Read, ids: readonly string[]): Promise<StoredDocument[]> =>
  storedBody.find(
    rows,
    `select ${storedBody.list} from source_documents as document join feeds on feeds.id = document.feed_id where document.id = any($1::bigint[])`,
    [ids],
  );

const steppedDocument = columns({ id: text, originId: text, license: text });
const recordKeyOf = columns({ key: expression("distinct record_key", text) });

export interface DocumentStep {
  readonly last: string;
  readonly originIds: readonly string[];
  readonly keys: readonly string[];
  /** Of the documents; "" is that of the source. */
  readonly licenses: ReadonlySet<string>;
}

/** Returns a page of documents; undefined if there are no more. */
export const findDocumentStep = async (rows: Read, feed: string, after: string, limit: number): Promise<DocumentStep | undefined> => {
  const found = await steppedDocument.find(
    rows,
    `select ${steppedDocument.list} from source_documents where feed_id = $1 and id > $2::bigint and told order by id limit $3`,
    [feed, after, limit],
  );
  const last = found.at(-1);
  if (!last) return undefined;
  const keys = await recordKeyOf.find(rows, `select ${recordKeyOf.list} from document_records where document_id = any($1::bigint[]) and told`, [
    found.map(({ id }) => id),
  ]);
  return {
    last: last.id,
    originIds: found.map(({ originId }) => originId),
    keys: keys.map(({ key }) => key),
    licenses: new Set(found.map(({ license }) => license)),
  };
};

/** Sets the visibility in all sources of this kind and group. Returns the IDs that changed. */
export const markDocumentsPublic = async (rows: Write, feed: string, originIds: readonly string[], isPublic: boolean, nowMs: number): Promise<string[]> => {
  const found = await markedDocument.find(
    rows,
    `update source_documents set public = $3, change_time = greatest($4, change_time + interval '1 ms')
     where origin_id = any($2) and public <> $3 and feed_id in (
       select other.id from feeds as other join feeds as own on other.kind = own.kind and other.group_uid = own.group_uid where own.id = $1)
     returning ${markedDocument.list}`,
    [feed, [...new Set(originIds)], isPublic, new Date(nowMs).toISOString()],
  );
  await markAffectedPackagesPublic(
    rows,
    found.map(({ id }) => id),
    isPublic,
  );
  return [...new Set(found.map(({ originId }) => originId))];
};

export interface PublicDocument {
  readonly id: string;
  readonly form: string;
  readonly originId: string;
  readonly license: string;
  /** If false, nothing is published, so neither license nor TLP label is checked. */
  readonly isPublic: boolean;
  /** May be a URL with secrets or a local path. */
  readonly source: string;
  /** Why it cannot be expressed in OSV; "" if it can. */
  readonly leftOut: string;
  readonly told: boolean;
  /** By its source or its origin. */
  readonly withdrawTime: string | undefined;
  readonly modifiedMs: number | undefined;
  readonly importTime: string;
  readonly changeTime: string;
  /** TLP of a CSAF document. */
  readonly label: string;
}

/** Documents removed by an earlier version have no time. */
const withdrawTimeOf = (document: string): string =>
  `case when ${document}.told then ${document}.withdraw_time else coalesce(${document}.withdraw_time, ${document}.change_time) end`;

const publicDocumentFields = {
  id: expression("document.id", text),
  form: expression("document.form", text),
  originId: expression("document.origin_id", text),
  license: expression("coalesce(nullif(document.license, ''), feeds.license)", text),
  isPublic: expression("document.public", flag),
  source: expression("feeds.source", text),
  leftOut: expression("document.left_out", text),
  told: expression("document.told", flag),
  withdrawTime: expression(timeText(withdrawTimeOf("document")), nullableText),
  modifiedMs: nullableTimeMs("document.modify_time"),
  importTime: time("document.import_time"),
  changeTime: time("document.change_time"),
  label: expression("coalesce((select label from csaf_documents where document_id = document.id), '')", text),
};
const publicDocument = columns<PublicDocument>(publicDocumentFields);

const publicDocuments = `source_documents as document join feeds on feeds.id = document.feed_id
  where document.public and exists (select from groups where uid = feeds.group_uid)`;

const privateDocumentsOf = (feeds: string): string => `source_documents as document join feeds on feeds.id = document.feed_id
  where document.feed_id = any(${feeds}::integer[]) and not document.public and exists (select from groups where uid = feeds.group_uid)`;

const byOrigin = "document.origin_id, document.id";

/** Returns up to `limit` public and `limit` private documents with these IDs, of any form. One ID is a cheap read. */
export const findDocumentsOf = async ({ read, visibility }: Reader, originIds: readonly string[], limit: number): Promise<PublicDocument[]> => {
  const cost = originIds.length === 1 ? undefined : { rows: limit, wide: true };
  const statement = (from: string): string => `select ${publicDocument.list} from ${from} and document.origin_id = any($1) order by ${byOrigin} limit $2`;
  const found = await publicDocument.find(read, statement(publicDocuments), [originIds, limit], cost);
  if (visibility === "public") return found;
  return [...found, ...(await publicDocument.find(read, statement(privateDocumentsOf("$3")), [originIds, limit, visibility.feeds], cost))];
};

interface DocumentPage {
  readonly terms: string;
  readonly order: string;
  /** Parameters of `terms`, from $2. */
  readonly values: readonly Param[];
}

/** Reads a page of the visible documents. Each kind is limited separately, so that each uses its own index. */
const findPage = <Fields>(
  { read, visibility }: Reader,
  { list, find }: Columns<Fields>,
  { terms, order, values }: DocumentPage,
  limit: number,
): Promise<Fields[]> => {
  const page = (list: string, from: string): string => `select ${list} from ${from} and ${terms} order by ${order} limit $1`;
  const cost = { rows: limit, wide: true };
  if (visibility === "public") return find(read, page(list, publicDocuments), [limit, ...values], cost);
  const either = `source_documents as document join feeds on feeds.id = document.feed_id
    where document.id in ((${page("document.id", publicDocuments)}) union all (${page("document.id", privateDocumentsOf(`$${values.length + 2}`))}))`;
  return find(read, `select ${list} from ${either} order by ${order} limit $1`, [limit, ...values, visibility.feeds], cost);
};

/** Returns a page by ID; with `since`, only IDs with a change after that time. */
export const findDocumentsById = (reader: Reader, since: string, after: string, limit: number): Promise<PublicDocument[]> => {
  // Only the private sources' documents count besides public ones.
  const isSeen = reader.visibility === "public" ? "public" : "(public or feed_id = any($4::integer[]))";
  const changed = `and document.origin_id in (select origin_id from source_documents where ${isSeen} and change_time > $3::timestamptz)`;
  const terms = `document.origin_id > $2 ${since === "" ? "" : changed}`;
  return findPage(reader, publicDocument, { terms, order: byOrigin, values: since === "" ? [after] : [after, since] }, limit);
};

export const findDocumentsOfForm = (reader: Reader, form: string, after: string, limit: number): Promise<PublicDocument[]> =>
  findPage(reader, publicDocument, { terms: "document.form = $2 and document.origin_id > $3", order: byOrigin, values: [form, after] }, limit);

export interface ArchivedDocument extends PublicDocument {
  readonly storedBytes: number;
  /** Without release. */
  readonly ecosystems: readonly string[];
  readonly modifyTime: string;
}

const archivedDocumentFields = {
  ...publicDocumentFields,
  storedBytes: expression("octet_length(document.body)", number),
  ecosystems: expression("to_json(coalesce(document.ecosystems, '{}'))::text", textList),
  modifyTime: expression("coalesce(document.modify_time::text, '')", text),
};
const archivedDocument = columns<ArchivedDocument>(archivedDocumentFields);

const isArchived = "document.left_out = '' and document.form in ('osv', 'rustsec', 'github')";

/** Returns all visible OSV documents of the next IDs, in an ecosystem or in all (""). */
export const findArchivedDocuments = ({ read, visibility }: Reader, ecosystem: string, after: string, limit: number): Promise<ArchivedDocument[]> => {
  const next = `and ${isArchived} and ($1 = '' or $1 = any(document.ecosystems)) and document.origin_id > $2 order by document.origin_id limit $3`;
  const archived = `${publicDocuments} and ${isArchived} and document.origin_id in`;
  const cost = { rows: limit, wide: true };
  if (visibility === "public")
    return archivedDocument.find(
      read,
      `select ${archivedDocument.list} from ${archived} (select document.origin_id from ${publicDocuments} ${next}) order by ${byOrigin}`,
      [ecosystem, after, limit],
      cost,
    );
  const privateDocuments = privateDocumentsOf("$4");
  return archivedDocument.find(
    read,
    `with next as materialized (
       (select distinct document.origin_id from ${publicDocuments} ${next})
       union
       (select distinct document.origin_id from ${privateDocuments} ${next})
       order by origin_id limit $3)
     select ${archivedDocument.list} from source_documents as document join feeds on feeds.id = document.feed_id
     where document.id in (
       select document.id from ${archived} (select origin_id from next)
       union all
       select document.id from ${privateDocuments} and ${isArchived} and document.origin_id in (select origin_id from next))
     order by ${byOrigin}`,
    [ecosystem, after, limit, visibility.feeds],
    cost,
  );
};

export interface ModifiedPosition {
  readonly modifyTime: string;
  readonly id: string;
}

/** Returns a page, last modified first. */
export const findModifiedDocuments = (reader: Reader, ecosystem: string, behind: ModifiedPosition | undefined, limit: number): Promise<ArchivedDocument[]> => {
  const terms = `${isArchived} and document.modify_time is not null and ($2 = '' or $2 = any(document.ecosystems))
    and document.told ${behind ? "and (document.modify_time, document.id) < ($3::timestamptz, $4::bigint)" : ""}`;
  const values = behind ? [ecosystem, behind.modifyTime, behind.id] : [ecosystem];
  return findPage(reader, archivedDocument, { terms, order: "document.modify_time desc, document.id desc", values }, limit);
};

const withdrawnOrder = `coalesce(document.withdraw_time, document.change_time)`;

export type WithdrawnDocument = RowOf<typeof withdrawnDocument>;

const withdrawnDocument = columns({ ...archivedDocumentFields, position: expression(`${withdrawnOrder}::text`, text) });

/** Returns a page of documents that their source removed, last withdrawn first. */
export const findWithdrawnDocuments = (
  reader: Reader,
  ecosystem: string,
  behind: Pick<WithdrawnDocument, "position" | "id"> | undefined,
  limit: number,
): Promise<WithdrawnDocument[]> => {
  const terms = `${isArchived} and not document.told and ($2 = '' or $2 = any(document.ecosystems))
    ${behind ? `and (${withdrawnOrder}, document.id) < ($3::timestamptz, $4::bigint)` : ""}`;
  const values = behind ? [ecosystem, behind.position, behind.id] : [ecosystem];
  return findPage(reader, withdrawnDocument, { terms, order: `${withdrawnOrder} desc, document.id desc`, values }, limit);
};

const ecosystemName = columns({ ecosystem: expression("distinct unnest(ecosystems)", text) });

export const findDocumentEcosystems = async ({ read, visibility }: Reader): Promise<string[]> => {
  const statement = (terms: string): string => `select ${ecosystemName.list} from source_documents where ${terms} and left_out = ''`;
  const found = await ecosystemName.find(read, statement("public"), [], wideCount);
  if (visibility !== "public") {
    found.push(...(await ecosystemName.find(read, statement("feed_id = any($1::integer[]) and not public"), [visibility.feeds], wideCount)));
  }
  return found.map(({ ecosystem }) => ecosystem);
};

/** Applies once other documents for their records have been chosen. */
export const sourceDocumentsRetention: Retention = periodRetention("documentMs", {
  table: "source_documents",
  where: "change_time < $1 and not told and not exists (select from document_records where document_id = id)",
  order: "change_time",
});
