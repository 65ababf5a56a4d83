// All published records of OSV, or those of an ecosystem, read a bounded number at a time: what archives and lists are made of.

import { deflateRawSync } from "node:zlib";
import { limits } from "#base/limits.ts";
import {
  type ArchivedDocument,
  findArchivedDocuments,
  findChangedAdvisories,
  findModifiedDocuments,
  findOwnPublishedByIds,
  findPublicDocumentsOfAll,
  findSourceDocuments,
  type ModifiedPosition,
  type Store,
} from "#store";
import { text } from "#base/json.ts";
import { byNumber } from "../documents/entries.ts";
import { isOwnEcosystem, osvEcosystem } from "../documents/osv.ts";
import { osvTextOf, ownRecordsOf } from "../documents/own-records.ts";
import { choosePublished } from "../documents/published.ts";
import type { ZipEntry } from "./zip.ts";

/** A name without what a file system or a list would take for something else: "../" and line breaks. */
export const fileNameOf = (id: string): string => encodeURIComponent(id);

/** A record of our own. */
interface OwnRecord {
  readonly id: string;
  readonly modified: string;
  readonly ecosystem: string;
  readonly content: string;
}

/** Our own records, each once. */
async function* ownRecords(store: Store, ecosystem: string): AsyncGenerator<OwnRecord[]> {
  if (ecosystem !== "" && !isOwnEcosystem(ecosystem)) return;
  const size = limits.osvRecordsMax;
  const seen = new Set<string>();
  for (let from = { since: "", after: "" }; ; ) {
    const found = await findChangedAdvisories(store.read, from.since, from.after, size);
    const last = found.at(-1);
    if (!last) return;
    const ids = [...new Set(found.map(({ id }) => id))].filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    const rows = ids.length === 0 ? [] : await findOwnPublishedByIds(store.read, ids, limits.osvCandidatesMax);
    const ecosystems = new Map(rows.map((row) => [row.advisoryId, osvEcosystem(row) ?? ""]));
    yield [...(await ownRecordsOf(store, rows))].flatMap(([number, record]): OwnRecord[] => {
      const own = { id: text(record, "id"), modified: text(record, "modified"), ecosystem: ecosystems.get(number) ?? "", content: JSON.stringify(record) };
      return ecosystem === "" || own.ecosystem === ecosystem ? [own] : [];
    });
    if (found.length < size) return;
    from = { since: last.modified, after: last.id };
  }
}

/** Others' documents that are published, a page at a time. */
async function* publishedDocuments(store: Store, ecosystem: string): AsyncGenerator<ArchivedDocument[]> {
  const size = limits.documentPageRows;
  for (let after = ""; ; ) {
    const found = await findArchivedDocuments(store.read, ecosystem, after, size);
    const last = found.at(-1);
    if (!last) return;
    yield byNumber(found, false).flatMap((documents) => {
      const { document } = choosePublished("osv", documents);
      return documents.filter(({ id, ecosystems }) => id === document?.id && (ecosystem === "" || ecosystems.includes(ecosystem)));
    });
    after = last.originId;
  }
}

/** As much as is held at once. */
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

/** A record's id and its text. */
export interface RecordText {
  readonly id: string;
  readonly modifiedMs: number;
  readonly content: string;
  /** Deflated, where it is stored so. */
  readonly deflated: Uint8Array | undefined;
}

/** The records themselves. */
export async function* recordTexts(store: Store, ecosystem: string): AsyncGenerator<RecordText[]> {
  for await (const page of ownRecords(store, ecosystem))
    yield page.map(({ id, modified, content }) => ({ id, modifiedMs: Date.parse(modified), content, deflated: undefined }));
  for await (const documents of publishedDocuments(store, ecosystem)) {
    for (const chunk of inChunks(documents)) {
      const bodies = new Map(
        (
          await findSourceDocuments(
            store.read,
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

/** The same as files of an archive. */
export async function* archivedFiles(store: Store, ecosystem: string): AsyncGenerator<ZipEntry[]> {
  for await (const page of recordTexts(store, ecosystem))
    yield page.map(({ id, modifiedMs, content, deflated }) => {
      const bytes = Buffer.from(content);
      return { name: `${fileNameOf(id)}.json`, modifiedMs, content: bytes, deflated: deflated ?? deflateRawSync(bytes) };
    });
}

/** A record in a list of changes. */
export interface ModifiedRecord {
  readonly id: string;
  readonly modified: string;
  readonly ecosystems: readonly string[];
}

/** All of them, the last modified first. */
export async function* modifiedRecords(store: Store, ecosystem: string): AsyncGenerator<ModifiedRecord[]> {
  const own: ModifiedRecord[] = [];
  for await (const page of ownRecords(store, ecosystem)) own.push(...page.map(({ id, modified, ecosystem: of }) => ({ id, modified, ecosystems: [of] })));
  own.sort((one, other) => (one.modified < other.modified ? 1 : one.modified > other.modified ? -1 : 0));
  let next = 0;
  const size = limits.documentPageRows;
  for (let behind: ModifiedPosition | undefined; ; ) {
    const found = await findModifiedDocuments(store.read, ecosystem, behind, size);
    const published = await findPublishedIds(store, found);
    const page: ModifiedRecord[] = [];
    for (const { id, originId, modifiedMs = 0, modifyTime, ecosystems } of found) {
      behind = { modifyTime, id };
      if (!published.has(id)) continue;
      const modified = new Date(modifiedMs).toISOString();
      for (let mine = own[next]; mine && mine.modified >= modified; mine = own[++next]) page.push(mine);
      page.push({ id: originId, modified, ecosystems });
    }
    if (found.length < size) {
      yield [...page, ...own.slice(next)];
      return;
    }
    yield page;
  }
}

const findPublishedIds = async (store: Store, documents: readonly ArchivedDocument[]): Promise<Set<string>> => {
  const published = new Set<string>();
  for (let from = 0; from < documents.length; from += limits.osvRecordsMax) {
    const numbers = [...new Set(documents.slice(from, from + limits.osvRecordsMax).map(({ originId }) => originId))];
    for (const same of Map.groupBy(await findPublicDocumentsOfAll(store.read, numbers, limits.osvCandidatesMax), ({ originId }) => originId).values()) {
      const { document } = choosePublished("osv", same);
      if (document) published.add(document.id);
    }
  }
  return published;
};
