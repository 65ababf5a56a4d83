// The lists of the open documents: every one that is published, and every record that is left out, with the reason. Read
// in pages, so that a list of any length is never held as a whole.

import { limits } from "#base/limits.ts";
import { type ChangedDocument, findPublicSuccessors, type PublicDocument } from "#advisories/store";
import { findUnlisted } from "../csaf/named.ts";
import { sourceLabel } from "../source.ts";
import type { DocumentKind } from "./left-out.ts";
import { whyNoOpenVex } from "./openvex.ts";
import { osvIdOf, whyNoOsv } from "./osv.ts";
import { type OwnPackage, ownPackages } from "./own-packages.ts";
import { choosePublished } from "./published.ts";
import { whyNoSecdb } from "./secdb.ts";
import { changesOfAdvisories, changesOfDocuments, type ReadChanges, type Reader, readDocuments } from "./reader.ts";

/** An entry of a list. */
export interface Entry {
  readonly id: string;
  /** When it was last changed here: what a mirror asks with the next time. The record itself keeps its origin's time. */
  readonly modified: string;
  /** The form in which it came in, when, from which address, and under which licence ("unknown" where nobody says). */
  readonly form?: string;
  readonly imported?: string;
  readonly source?: string;
  readonly license?: string;
  /** When it was withdrawn: no source has it any longer, or its origin says so. The document stays as its origin wrote it. */
  readonly withdrawnTime?: string;
  /** The record that replaces it in its source. */
  readonly withdrawnBy?: string;
  /** No source has it any longer. */
  readonly noLongerTold?: true;
  /** Why it is no document of this kind. */
  readonly leftOut?: string;
  /** Why it is in no list of its issuer (CSAF), though it is a document of this kind. */
  readonly unlisted?: string;
}

export interface PageStart {
  /** Only what was changed behind this time; "" for all. */
  readonly since: string;
  readonly after: string;
}

/** Paths of the operator's are nobody's business; of an address what may be secret is left out. */
const shownSource = ({ source }: PublicDocument): { source?: string } => (/^https?:/.test(source) ? { source: sourceLabel(source) } : {});

/** What an entry says of a withdrawal. */
const withdrawalOf = (id: string, withdrawTime: string | undefined, successors: ReadonlyMap<string, string>): Pick<Entry, "withdrawnTime" | "withdrawnBy"> => {
  if (withdrawTime === undefined || withdrawTime === "") return {};
  const withdrawnBy = successors.get(id);
  return { withdrawnTime: withdrawTime, ...(withdrawnBy === undefined ? {} : { withdrawnBy }) };
};

/** What replaces these records, as far as this reader may see it. */
const findSuccessors = ({ read, privateRecords }: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  findPublicSuccessors(read, [...new Set(ids)], privateRecords?.feeds ?? []);

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

/** The documents of each number. Of a page that is full the last number may have more: it comes with the next one. */
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
    const found = await readDocuments(reader, since, after, size);
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

/** A list of changes in their order, a page at a time. */
async function* changePages<Changed extends ChangedDocument>(readChanges: ReadChanges<Changed>, start: PageStart): AsyncGenerator<Changed[]> {
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

/** Our own records, in the order of their changes: what is public, then what is not. */
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

/** Our own documents about packages, in the order of their changes; those that nobody else sees at the end. */
async function* ownDocumentEntries(reader: Reader, start: PageStart): AsyncGenerator<Entry[]> {
  const [changes, ...privateChanges] = changesOfDocuments(reader);
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

/** What of one package is left out of OpenVEX, and what of it a secdb says and what not: advisory by advisory. */
const packageEntries = (kind: "openvex" | "secdb", found: OwnPackage): Entry[] =>
  found.advisories.flatMap((advisory): Entry[] => {
    const leftOut = kind === "openvex" ? whyNoOpenVex(advisory, found) : whyNoSecdb(advisory, found);
    const entry: Entry = { id: advisory.advisoryId, modified: advisory.updateTime };
    if (leftOut !== undefined) return [{ ...entry, leftOut }];
    return kind === "secdb" ? [entry] : [];
  });

/** In the order of their packages. */
async function* ownPackageEntries(reader: Reader, kind: "openvex" | "secdb", since: string): AsyncGenerator<Entry[]> {
  for await (const page of ownPackages(reader)) yield page.flatMap((found) => packageEntries(kind, found)).filter(({ modified }) => modified > since);
}

/** Our own first, in the order of their changes; then what others wrote, in the order of their numbers. */
export async function* listEntries(reader: Reader, kind: DocumentKind, start: PageStart): AsyncGenerator<Entry[]> {
  if (kind === "osv") yield* ownRecordEntries(reader, start);
  if (kind === "openvex" || kind === "csaf") yield* ownDocumentEntries(reader, start);
  if (kind === "openvex" || kind === "secdb") yield* ownPackageEntries(reader, kind, start.since);
  yield* documentEntries(reader, kind, start.since);
}
