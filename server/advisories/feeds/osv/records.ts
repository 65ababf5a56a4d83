// Published OSV records of all or one ecosystem in batches, for archives and lists. Archives omit withdrawn records; lists of
// changes have the time of withdrawal (docs/decisions/0073).

import { deflateRawSync } from "node:zlib";
import { limits } from "#base/limits.ts";
import {
  type ArchivedDocument,
  findArchivedDocuments,
  changesOfAdvisories,
  findDocumentsOf,
  findModifiedDocuments,
  findOwnByIds,
  findSourceDocuments,
  findWithdrawnDocuments,
  type ModifiedPosition,
  ownPrivateNames,
  publicReader,
  type Reader,
  type WithdrawnDocument,
} from "#advisories/store";
import { text } from "#base/json.ts";
import { byNumber, changePages } from "../documents/entries.ts";
import { isOwnEcosystem, osvEcosystem } from "../documents/osv.ts";
import { isLanguageEcosystem } from "../formats/osv.ts";
import { osvTextOf, ownRecordsOf } from "../documents/own-records.ts";
import { choosePresent, choosePublished } from "../documents/published.ts";
import type { ZipEntry } from "./zip.ts";

/** Safe in file names and lists: no "../", no line breaks. */
export const fileNameOf = (id: string): string => encodeURIComponent(id);

interface OwnRecord {
  readonly id: string;
  readonly modified: string;
  /** One for each affected distribution. */
  readonly ecosystems: readonly string[];
  readonly content: string;
  readonly isWithdrawn: boolean;
}

/** Yields each record once. */
async function* ownRecords(reader: Reader, ecosystem: string): AsyncGenerator<OwnRecord[]> {
  if (ecosystem !== "" && !isOwnEcosystem(ecosystem, reader.visibility !== "public")) return;
  const seen = new Set<string>();
  for await (const numbers of isLanguageEcosystem(ecosystem) ? ownPrivateNames(reader, "advisory_id", limits.osvRecordsMax) : ownNumbers(reader)) {
    const ids = numbers.filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    const rows = ids.length === 0 ? [] : await findOwnByIds(reader, ids, limits.osvCandidatesMax);
    const rowsOf = Map.groupBy(rows, ({ advisoryId }) => advisoryId);
    yield [...(await ownRecordsOf(reader, rows))].flatMap(([number, record]): OwnRecord[] => {
      const ecosystems = [...new Set((rowsOf.get(number) ?? []).map((row) => osvEcosystem(row) ?? ""))];
      const isWithdrawn = text(record, "withdrawn") !== "";
      const own = { id: text(record, "id"), modified: text(record, "modified"), ecosystems, content: JSON.stringify(record), isWithdrawn };
      return ecosystem === "" || ecosystems.includes(ecosystem) ? [own] : [];
    });
  }
}

/** Yields IDs, possibly with duplicates. */
async function* ownNumbers(reader: Reader): AsyncGenerator<string[]> {
  for (const readChanges of changesOfAdvisories(publicReader(reader.read))) {
    for await (const page of changePages(readChanges, { since: "", after: "" })) yield [...new Set(page.map(({ id }) => id))];
  }
  yield* ownPrivateNames(reader, "advisory_id", limits.osvRecordsMax);
}

/** Yields documents by page. */
async function* publishedDocuments(reader: Reader, ecosystem: string): AsyncGenerator<ArchivedDocument[]> {
  const size = limits.documentPageRows;
  for (let after = ""; ; ) {
    const found = await findArchivedDocuments(reader, ecosystem, after, size);
    const last = found.at(-1);
    if (!last) return;
    yield byNumber(found, false).flatMap((documents) => {
      const document = choosePresent("osv", documents);
      return documents.filter(({ id, ecosystems }) => id === document?.id && (ecosystem === "" || ecosystems.includes(ecosystem)));
    });
    after = last.originId;
  }
}

/** Yields batches that fit in memory. */
function* inChunks(documents: readonly ArchivedDocument[]): Generator<ArchivedDocument[]> {
  let chunk: ArchivedDocument[] = [];
  let bytes = 0;
  for (const each of documents) {
    if (chunk.length > 0 && (bytes + each.storedBytes > limits.feedAgainBytes || chunk.length >= limits.feedBatchRecords)) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(each);
    bytes += each.storedBytes;
  }
  if (chunk.length > 0) yield chunk;
}

export interface RecordText {
  readonly id: string;
  readonly modifiedMs: number;
  readonly content: string;
  /** If stored in that form. */
  readonly deflated: Uint8Array | undefined;
}

/** Yields records that are not withdrawn. */
export async function* recordTexts(reader: Reader, ecosystem: string): AsyncGenerator<RecordText[]> {
  for await (const page of ownRecords(reader, ecosystem))
    yield page
      .filter(({ isWithdrawn }) => !isWithdrawn)
      .map(({ id, modified, content }) => ({ id, modifiedMs: Date.parse(modified), content, deflated: undefined }));
  for await (const documents of publishedDocuments(reader, ecosystem)) {
    for (const chunk of inChunks(documents)) {
      const bodies = new Map(
        (
          await findSourceDocuments(
            reader.read,
            chunk.map(({ id }) => id),
          )
        ).map(({ id, body }) => [id, body]),
      );
      yield chunk.flatMap(({ id, originId, form, modifiedMs = 0 }): RecordText[] => {
        const body = bodies.get(id);
        if (body === undefined) return [];
        const deflated = form === "osv" ? Buffer.from(body, "base64") : undefined;
        return [{ id: originId, modifiedMs, content: osvTextOf({ form, body }), deflated }];
      });
    }
  }
}

/** Yields the records as files of an archive. */
export async function* archivedFiles(reader: Reader, ecosystem: string): AsyncGenerator<ZipEntry[]> {
  for await (const page of recordTexts(reader, ecosystem))
    yield page.map(({ id, modifiedMs, content, deflated }) => {
      const bytes = Buffer.from(content);
      return { name: `${fileNameOf(id)}.json`, modifiedMs, content: bytes, deflated: deflated ?? deflateRawSync(bytes) };
    });
}

export interface ModifiedRecord {
  readonly id: string;
  readonly modified: string;
  readonly ecosystems: readonly string[];
}

/** Yields documents with the last modified first. */
async function* presentChanges(reader: Reader, ecosystem: string): AsyncGenerator<ModifiedRecord[]> {
  const size = limits.documentPageRows;
  for (let behind: ModifiedPosition | undefined; ; ) {
    const found = await findModifiedDocuments(reader, ecosystem, behind, size);
    const published = await findPublishedIds(reader, found);
    yield found.flatMap(({ id, originId, modifiedMs = 0, ecosystems }) =>
      published.has(id) ? [{ id: originId, modified: new Date(modifiedMs).toISOString(), ecosystems }] : [],
    );
    behind = found.at(-1);
    if (!behind || found.length < size) return;
  }
}

/** Yields documents with the last withdrawn first, and that time as change time. */
async function* withdrawals(reader: Reader, ecosystem: string): AsyncGenerator<ModifiedRecord[]> {
  const size = limits.documentPageRows;
  for (let behind: WithdrawnDocument | undefined; ; ) {
    const found = await findWithdrawnDocuments(reader, ecosystem, behind, size);
    const published = await findPublishedIds(reader, found);
    yield found.flatMap(({ id, originId, withdrawTime = "", ecosystems }) => (published.has(id) ? [{ id: originId, modified: withdrawTime, ecosystems }] : []));
    behind = found.at(-1);
    if (!behind || found.length < size) return;
  }
}

async function* ownChanges(reader: Reader, ecosystem: string): AsyncGenerator<ModifiedRecord[]> {
  const own: ModifiedRecord[] = [];
  for await (const page of ownRecords(reader, ecosystem)) own.push(...page.map(({ id, modified, ecosystems }) => ({ id, modified, ecosystems })));
  yield own.sort((one, other) => (one.modified < other.modified ? 1 : one.modified > other.modified ? -1 : 0));
}

/** Pages with a cursor to the next item. */
interface Sequence {
  readonly pages: AsyncGenerator<ModifiedRecord[]>;
  page: readonly ModifiedRecord[];
  at: number;
}

const headOf = async (sequence: Sequence): Promise<ModifiedRecord | undefined> => {
  while (sequence.at >= sequence.page.length) {
    const next = await sequence.pages.next();
    if (next.done) return undefined;
    [sequence.page, sequence.at] = [next.value, 0];
  }
  return sequence.page[sequence.at];
};

/** Yields records with the last changed first; at equal times, ours come first. */
export async function* modifiedRecords(reader: Reader, ecosystem: string): AsyncGenerator<ModifiedRecord[]> {
  const sequences = [ownChanges, withdrawals, presentChanges].map((read): Sequence => ({ pages: read(reader, ecosystem), page: [], at: 0 }));
  for (let page: ModifiedRecord[] = []; ; ) {
    let latest: { readonly sequence: Sequence; readonly record: ModifiedRecord } | undefined;
    for (const sequence of sequences) {
      const record = await headOf(sequence);
      if (record && (latest === undefined || record.modified > latest.record.modified)) latest = { sequence, record };
    }
    if (latest) {
      page.push(latest.record);
      latest.sequence.at++;
    }
    if (!latest || page.length >= limits.documentPageRows) {
      if (page.length > 0) yield page;
      page = [];
    }
    if (!latest) return;
  }
}

const findPublishedIds = async (reader: Reader, documents: readonly ArchivedDocument[]): Promise<Set<string>> => {
  const published = new Set<string>();
  for (let from = 0; from < documents.length; from += limits.osvRecordsMax) {
    const numbers = [...new Set(documents.slice(from, from + limits.osvRecordsMax).map(({ originId }) => originId))];
    for (const same of Map.groupBy(await findDocumentsOf(reader, numbers, limits.osvCandidatesMax), ({ originId }) => originId).values()) {
      const { document } = choosePublished("osv", same);
      if (document) published.add(document.id);
    }
  }
  return published;
};
