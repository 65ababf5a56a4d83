// Lists of the open documents: published ones, and omitted records with reasons. Read in pages, so that no list is in memory as a
// whole.

import { limits } from "#base/limits.ts";
import {
  type ChangedDocument,
  changesOfAdvisories,
  changesOfDocuments,
  findDocumentsById,
  findPublicSuccessors,
  type PublicDocument,
  type ReadChanges,
  type Reader,
} from "#advisories/store";
import { findUnlisted } from "../csaf/named.ts";
import { sourceLabel } from "../source.ts";
import type { DocumentKind } from "./left-out.ts";
import { whyNoOpenVex } from "./openvex.ts";
import { osvIdOf, whyNoOsv } from "./osv.ts";
import { type OwnPackage, ownPackages } from "./own-packages.ts";
import { choosePublished } from "./published.ts";
import { whyNoSecdb } from "./secdb.ts";

export interface Entry {
  readonly id: string;
  /** The last change on this server, for incremental mirroring. The record keeps its origin's time. */
  readonly modified: string;
  /** Original format, import time, source URL and license ("unknown" if not stated). */
  readonly form?: string;
  readonly imported?: string;
  readonly source?: string;
  readonly license?: string;
  /** Withdrawn by its origin, or removed from all sources. The document is unchanged. */
  readonly withdrawnTime?: string;
  /** The ID of its successor. */
  readonly withdrawnBy?: string;
  /** No source contains it any longer. */
  readonly noLongerTold?: true;
  readonly leftOut?: string;
  /** Why the lists of its CSAF issuer omit it. */
  readonly unlisted?: string;
}

export interface PageStart {
  /** Only changes after this time; "" for all. */
  readonly since: string;
  readonly after: string;
}

/** No local paths, and no secrets in URLs. */
const shownSource = ({ source }: PublicDocument): { source?: string } => (/^https?:/.test(source) ? { source: sourceLabel(source) } : {});

const withdrawalOf = (id: string, withdrawTime: string | undefined, successors: ReadonlyMap<string, string>): Pick<Entry, "withdrawnTime" | "withdrawnBy"> => {
  if (withdrawTime === undefined || withdrawTime === "") return {};
  const withdrawnBy = successors.get(id);
  return { withdrawnTime: withdrawTime, ...(withdrawnBy === undefined ? {} : { withdrawnBy }) };
};

const findSuccessors = ({ read, visibility }: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  findPublicSuccessors(read, [...new Set(ids)], visibility === "public" ? [] : visibility.feeds);

const documentEntry = (
  kind: DocumentKind,
  documents: readonly [PublicDocument, ...PublicDocument[]],
  unlisted: ReadonlyMap<string, string>,
  successors: ReadonlyMap<string, string>,
): Entry | undefined => {
  const { document, leftOut } = choosePublished(kind, documents);
  const [first] = documents;
  if (!document && leftOut === "") return undefined;
  const shown = document ?? first;
  const reason = document && unlisted.get(document.id);
  return {
    id: shown.originId,
    modified: documents.reduce((last, { changeTime }) => (changeTime > last ? changeTime : last), ""),
    form: shown.form,
    imported: shown.importTime,
    ...shownSource(shown),
    license: shown.license === "" ? "unknown" : shown.license,
    ...withdrawalOf(shown.originId, shown.withdrawTime, successors),
    ...(documents.some(({ told }) => told) ? {} : { noLongerTold: true as const }),
    ...(document ? {} : { leftOut }),
    ...(reason === undefined ? {} : { unlisted: reason }),
  };
};

/** Groups documents by ID. Drops the last ID of a full page, which may continue. */
export const byNumber = <Document extends PublicDocument>(documents: readonly Document[], isFull: boolean): [Document, ...Document[]][] => {
  const found = new Map<string, [Document, ...Document[]]>();
  for (const document of documents) {
    const known = found.get(document.originId);
    if (known) known.push(document);
    else found.set(document.originId, [document]);
  }
  const all = [...found.values()];
  return isFull && all.length > 1 ? all.slice(0, -1) : all;
};

async function* documentEntries(reader: Reader, kind: DocumentKind, since: string): AsyncGenerator<Entry[]> {
  const size = limits.documentPageRows;
  for (let after = ""; ; ) {
    const found = await findDocumentsById(reader, since, after, size);
    const numbers = byNumber(found, found.length >= size);
    const last = numbers.at(-1);
    if (!last) return;
    const unlisted = kind === "csaf" ? await findUnlisted(reader, found) : new Map<string, string>();
    const successors = await findSuccessors(
      reader,
      found.flatMap(({ originId, withdrawTime }) => (withdrawTime === undefined ? [] : [originId])),
    );
    yield numbers.flatMap((documents) => documentEntry(kind, documents, unlisted, successors) ?? []);
    if (found.length < size) return;
    after = last[0].originId;
  }
}

/** Yields changed records in pages. */
export async function* changePages<Changed extends ChangedDocument>(readChanges: ReadChanges<Changed>, start: PageStart): AsyncGenerator<Changed[]> {
  const size = limits.documentPageRows;
  for (let from = start; ; ) {
    const found = await readChanges(from.since, from.after, size);
    const last = found.at(-1);
    if (!last) return;
    yield found;
    if (found.length < size) return;
    from = { since: last.modified, after: last.id };
  }
}

/** Yields records by change time: public ones, then private ones. */
async function* ownRecordEntries(reader: Reader, start: PageStart): AsyncGenerator<Entry[]> {
  for (const readChanges of changesOfAdvisories(reader)) {
    for await (const found of changePages(readChanges, start)) {
      const successors = await findSuccessors(
        reader,
        found.flatMap(({ id, withdrawTime }) => (withdrawTime === "" ? [] : [id])),
      );
      const entries = new Map(
        found.map((advisory): [string, Entry] => {
          const { id, modified, withdrawTime } = advisory;
          const leftOut = whyNoOsv(advisory);
          const { withdrawnBy, ...withdrawal } = withdrawalOf(id, withdrawTime, successors);
          const entry = { id: osvIdOf(id), modified, ...withdrawal, ...(withdrawnBy === undefined ? {} : { withdrawnBy: osvIdOf(withdrawnBy) }) };
          return [`${modified} ${id}`, { ...entry, ...(leftOut === undefined ? {} : { leftOut }) }];
        }),
      );
      yield [...entries.values()];
    }
  }
}

/** Yields documents by change time. Packages with only private advisories come last. */
async function* ownDocumentEntries(reader: Reader, start: PageStart): AsyncGenerator<Entry[]> {
  const [changes, ...privateChanges] = changesOfDocuments(reader);
  if (!changes) return;
  const seenHere = new Map<string, string>();
  for (const readChanges of privateChanges)
    for await (const page of changePages(readChanges, start)) for (const { id, modified } of page) seenHere.set(id, modified);
  for await (const page of changePages(changes, start)) {
    yield page.map(({ id, modified }) => {
      const other = seenHere.get(id) ?? "";
      seenHere.delete(id);
      return { id, modified: other > modified ? other : modified };
    });
  }
  yield [...seenHere].map(([id, modified]) => ({ id, modified }));
}

/** Returns what OpenVEX omits, or what a secdb contains and omits. */
const packageEntries = (kind: "openvex" | "secdb", found: OwnPackage): Entry[] =>
  found.advisories.flatMap((advisory): Entry[] => {
    const leftOut = kind === "openvex" ? whyNoOpenVex(advisory, found) : whyNoSecdb(advisory, found);
    const entry: Entry = { id: advisory.advisoryId, modified: advisory.updateTime };
    if (leftOut !== undefined) return [{ ...entry, leftOut }];
    return kind === "secdb" ? [entry] : [];
  });

async function* ownPackageEntries(reader: Reader, kind: "openvex" | "secdb", since: string): AsyncGenerator<Entry[]> {
  for await (const page of ownPackages(reader)) yield page.flatMap((found) => packageEntries(kind, found)).filter(({ modified }) => modified > since);
}

/** Yields our documents by change time, then those of others by ID. */
export async function* listEntries(reader: Reader, kind: DocumentKind, start: PageStart): AsyncGenerator<Entry[]> {
  if (kind === "osv") yield* ownRecordEntries(reader, start);
  if (kind === "openvex" || kind === "csaf") yield* ownDocumentEntries(reader, start);
  if (kind === "openvex" || kind === "secdb") yield* ownPackageEntries(reader, kind, start.since);
  yield* documentEntries(reader, kind, start.since);
}
