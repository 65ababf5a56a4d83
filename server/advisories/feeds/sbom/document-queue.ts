// A queue of pushed documents. A document is claimed, fetched and read in a worker thread; only the lease's holder writes the
// result.

import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import type { Services } from "#kernel";
import type { Read, Write } from "#db";
import type { TrustedKey } from "#advisories/store";
import type { ReadDocumentStream } from "./open-reader.ts";

/** Undefined if the repository no longer has the blob. */
export type OpenDocument = (repoUid: string, digest: string) => Promise<AsyncIterable<Uint8Array> | undefined>;

interface WaitingDocument {
  readonly repoUid: string;
  readonly digest: string;
  readonly documentDigest: string;
  readonly tries: number;
}

interface DocumentKind<Waiting extends WaitingDocument, Reading> {
  /** In log event names. */
  readonly name: "sbom" | "report" | "vex";
  readonly isDue: (rows: Read, nowMs: number) => Promise<boolean>;
  readonly claim: (rows: Write, served: readonly string[], nowMs: number, untilMs: number) => Promise<Waiting | undefined>;
  readonly postpone: (rows: Write, waiting: Waiting, untilMs: number) => Promise<void>;
  /** Keys of trusted sources to compare signatures with. */
  readonly findKeys?: (rows: Read, waiting: Waiting) => Promise<readonly TrustedKey[]>;
  readonly complete: (
    rows: Write,
    waiting: Waiting,
    reading: Reading | { readonly problem: string },
    nowMs: number,
    keys: readonly TrustedKey[],
  ) => Promise<unknown>;
  readonly read: ReadDocumentStream<Reading>;
}

export interface DocumentQueue {
  /** Returns the document's organization; undefined if none is due. `served`: see `claim`. */
  readNext(served: readonly string[]): Promise<string | undefined>;
}

const retryMs = (tries: number): number => Math.min(limits.sbomRetryMs * 2 ** Math.min(tries - 1, 20), limits.sbomRetryMaxMs);

export const openDocumentQueue = <Waiting extends WaitingDocument, Reading extends object>(
  { store, clock, log }: Services,
  openDocument: OpenDocument,
  { name, isDue, claim, postpone, findKeys, complete, read }: DocumentKind<Waiting, Reading>,
): DocumentQueue => {
  const readDocument = async ({ repoUid, digest, documentDigest }: Waiting, keys: readonly TrustedKey[]): Promise<Reading | { readonly problem: string }> => {
    const content = await openDocument(repoUid, documentDigest);
    return content === undefined ? { problem: "is not in the repo" } : read(content, [digest], keys);
  };
  const readOne = async (waiting: Waiting): Promise<void> => {
    const { digest: image, repoUid: repo, documentDigest: document, tries } = waiting;
    const keys = (await findKeys?.(store.read, waiting)) ?? [];
    let reading: Reading | { readonly problem: string };
    try {
      reading = await readDocument(waiting, keys);
    } catch (cause) {
      log(`${name}.failed`, { image, repo, document, tries, cause });
      if (tries < limits.sbomTriesMax) return store.write((rows) => postpone(rows, waiting, clock() + retryMs(tries)));
      reading = { problem: `could not be fetched in ${tries} tries` };
    }
    if ("problem" in reading) log(`${name}.unreadable`, { image, repo, document, problem: reading.problem });
    const result = reading;
    await store.write((rows) => complete(rows, waiting, result, clock(), keys));
  };
  return {
    readNext: async (served) => {
      if (!(await isDue(store.read, clock()))) return undefined;
      const waiting = await store.write((rows) => claim(rows, served, clock(), clock() + limits.sbomHoldMs));
      // Another server has claimed it.
      if (waiting === undefined) return undefined;
      await readOne(waiting);
      return rootOf(waiting.repoUid);
    },
  };
};
