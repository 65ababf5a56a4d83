// Table affected_packages: packages and versions in OSV documents, so that a scanner's query for a thousand packages
// opens no document. Updated in the transactions that write, publish or unpublish documents (source-documents.ts).
// Withdrawn documents have no rows, since queries do not return them.

import { columns, expression, flag, nullableText, number, type Read, type RowOf, text, type Write } from "#db";
import { columnOf, sharedColumnOf, sharedOr } from "./feed-rows.ts";
import type { Reader } from "./visibility.ts";

export interface AffectedPackage {
  /** Includes the suffix ("Debian:12"). */
  readonly ecosystem: string;
  readonly name: string;
  /** JSON list of ranges and versions. */
  readonly entries: string;
}

export interface DocumentPackages {
  readonly documentId: string;
  readonly originId: string;
  readonly public: boolean;
  readonly modified: string;
  readonly packages: readonly AffectedPackage[];
}

export const writeAffectedPackages = async (rows: Write, documents: readonly DocumentPackages[]): Promise<void> => {
  await rows.query("delete from affected_packages where document_id = any($1::bigint[])", [documents.map(({ documentId }) => documentId)]);
  const given = documents.flatMap((document) => document.packages.map((each) => ({ ...document, ...each })));
  if (given.length === 0) return;
  await rows.query(
    `insert into affected_packages (ecosystem, name, origin_id, document_id, public, modified, entries)
     select ${sharedOr("ecosystem", 1)}, name, origin_id, document_id::bigint, ${sharedOr("public", 5)} = 'true', modified, entries
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
       as given(ecosystem, name, origin_id, document_id, public, modified, entries)`,
    [
      sharedColumnOf(given, ({ ecosystem }) => ecosystem),
      columnOf(given, ({ name }) => name),
      columnOf(given, ({ originId }) => originId),
      columnOf(given, ({ documentId }) => documentId),
      sharedColumnOf(given, (each) => String(each.public)),
      columnOf(given, ({ modified }) => modified),
      columnOf(given, ({ entries }) => entries),
    ],
  );
};

export const markAffectedPackagesPublic = async (rows: Write, documentIds: readonly string[], isPublic: boolean): Promise<void> => {
  if (documentIds.length === 0) return;
  await rows.query("update affected_packages set public = $2 where document_id = any($1::bigint[])", [documentIds, isPublic]);
};

/** Deletes the packages of withdrawn documents. */
export const deleteAffectedPackages = async (rows: Write, documentIds: readonly string[]): Promise<void> => {
  if (documentIds.length === 0) return;
  await rows.query("delete from affected_packages where document_id = any($1::bigint[])", [documentIds]);
};

/** A requested package; results start after the ID `after`. */
export interface RequestedPackage {
  readonly ecosystem: string;
  readonly name: string;
  readonly after: string;
}

export type PackageDocument = RowOf<typeof packageDocument>;

const packageDocument = columns({
  /** Index of the request, from 1. */
  ordinal: expression("asked.ordinal", number),
  originId: expression("affected.origin_id", text),
  documentId: expression("affected.document_id", text),
  modified: expression("affected.modified", text),
  /** The document's own license, or its source's. */
  license: expression("coalesce(nullif(document.license, ''), feeds.license)", text),
  /** Its group exists. */
  owned: expression("exists (select from groups where uid = feeds.group_uid)", flag),
  /** Another public document has the same ID. */
  contested: expression(
    "exists (select from source_documents as other where other.origin_id = affected.origin_id and other.public and other.id <> affected.document_id)",
    flag,
  ),
  entryBytes: expression("octet_length(affected.entries)", number),
  /** Undefined above 1024 bytes (findPackageEntries). */
  entries: expression("case when octet_length(affected.entries) <= 1024 then affected.entries end", nullableText),
});

/** Returns at most `perPackage` documents each and `limit` in all, by package and ID. */
export const findPackageDocuments = (rows: Read, asked: readonly RequestedPackage[], perPackage: number, limit: number): Promise<PackageDocument[]> =>
  packageDocument.find(
    rows,
    // Package by package through the index: after a bulk load the planner lacks statistics and reads whole tables.
    `select ${packageDocument.list}
     from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked(ecosystem, name, after, ordinal)
     cross join lateral (
       select origin_id, document_id, modified, entries from affected_packages
       where name = asked.name and ecosystem = asked.ecosystem and origin_id > asked.after and public
       order by origin_id, document_id limit $4) as affected
     cross join lateral (select license, feed_id from source_documents where id = affected.document_id offset 0) as document
     join feeds on feeds.id = document.feed_id
     order by asked.ordinal, affected.origin_id, affected.document_id limit $5`,
    [columnOf(asked, ({ ecosystem }) => ecosystem), columnOf(asked, ({ name }) => name), columnOf(asked, ({ after }) => after), perPackage, limit],
    { rows: limit, wide: true },
  );

const privatePackageDocument = columns<PackageDocument>({
  ordinal: expression("asked.ordinal", number),
  originId: expression("affected.origin_id", text),
  documentId: expression("affected.document_id", text),
  modified: expression("affected.modified", text),
  // Showing a document to members of its group is not publication.
  license: expression("''", text),
  owned: expression("exists (select from groups where uid = affected.group_uid)", flag),
  contested: expression("true", flag),
  entryBytes: expression("octet_length(affected.entries)", number),
  entries: expression("case when octet_length(affected.entries) <= 1024 then affected.entries end", nullableText),
});

// No index by name: one scan of the sources' private documents serves all packages.
const privatePackages = `(
  select affected.name, affected.ecosystem, affected.origin_id, affected.document_id, affected.modified, affected.entries, feeds.group_uid
  from feeds join source_documents as document on document.feed_id = feeds.id join affected_packages as affected on affected.document_id = document.id
  where feeds.id = any($1::integer[]) and not document.public and affected.name = any($2))`;

/** Private counterpart of findPackageDocuments. */
export const findPrivatePackageDocuments = (
  rows: Read,
  feeds: readonly string[],
  asked: readonly RequestedPackage[],
  limit: number,
): Promise<PackageDocument[]> =>
  privatePackageDocument.find(
    rows,
    `select ${privatePackageDocument.list}
     from ${privatePackages} as affected
     join unnest($2::text[], $3::text[], $4::text[]) with ordinality as asked(name, ecosystem, after, ordinal)
       on asked.name = affected.name and asked.ecosystem = affected.ecosystem and affected.origin_id > asked.after
     order by asked.ordinal, affected.origin_id, affected.document_id limit $5`,
    [feeds, columnOf(asked, ({ name }) => name), columnOf(asked, ({ ecosystem }) => ecosystem), columnOf(asked, ({ after }) => after), limit],
    { rows: limit, wide: true },
  );

const longEntries = columns({
  documentId: expression("affected.document_id", text),
  ecosystem: expression("affected.ecosystem", text),
  name: expression("affected.name", text),
  entries: expression("affected.entries", text),
});

/** Returns entries too long for PackageDocument. */
export const findPackageEntries = (
  rows: Read,
  asked: readonly { readonly documentId: string; readonly ecosystem: string; readonly name: string }[],
): Promise<{ readonly documentId: string; readonly ecosystem: string; readonly name: string; readonly entries: string }[]> =>
  longEntries.find(
    rows,
    `select ${longEntries.list} from unnest($1::text[], $2::text[], $3::text[]) as asked(id, ecosystem, name)
     join affected_packages as affected on affected.document_id = asked.id::bigint and affected.ecosystem = asked.ecosystem and affected.name = asked.name`,
    [columnOf(asked, ({ documentId }) => documentId), columnOf(asked, ({ ecosystem }) => ecosystem), columnOf(asked, ({ name }) => name)],
    { rows: asked.length, wide: true },
  );

const namedPackage = columns({ name: text, ecosystem: text });

/** Returns public and visible private packages in any ecosystem, up to `limit` each. */
export const findNamedPackages = async ({ read, visibility }: Reader, names: readonly string[], limit: number): Promise<RowOf<typeof namedPackage>[]> => {
  const cost = { rows: limit, wide: true };
  const publicText = `select distinct ${namedPackage.list} from affected_packages where name = any($1) and public order by name, ecosystem limit $2`;
  const found = await namedPackage.find(read, publicText, [names, limit], cost);
  if (visibility === "public") return found;
  const privateText = `select distinct ${namedPackage.list} from ${privatePackages} as affected order by name, ecosystem limit $3`;
  const both = [...found, ...(await namedPackage.find(read, privateText, [visibility.feeds, names, limit], cost))];
  return [...new Map(both.map((each) => [JSON.stringify([each.name, each.ecosystem]), each])).values()];
};
