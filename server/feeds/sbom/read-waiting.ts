// Reads the SBOMs that pushes have left to be read (store/image-sboms.ts), behind their answers, and then matches the images of
// their organizations with advisories. Every server does so; a row is held by one at a time. What is killed meanwhile is taken up
// again, by this server or another, since row and result are in the database.

import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import { claimSbom, completeSbom, findUnmatchedRoots, isSbomDue, postponeSbom, type WaitingSbom } from "#store";
import { rootOf } from "#base/uid.ts";
import { matchImages, matchImagesOf } from "../match-images.ts";
import { openSbomReader, type ReadSbomStream } from "./open-reader.ts";
import type { SbomReading } from "./read-sbom.ts";

/** The content of a blob of a repo; undefined where the repo has none of that digest any longer. */
export type OpenDocument = (repoUid: string, digest: string) => Promise<AsyncIterable<Uint8Array> | undefined>;

export interface SbomReaders {
  /** Reads what is due now, one after the other, and matches. */
  turn(): Promise<void>;
  stop(): Promise<void>;
}

export interface SbomReadersOptions {
  readonly services: Services;
  readonly openDocument: OpenDocument;
  /** A turn begins when somebody says so, not by itself. */
  readonly byHand: boolean;
  readonly read?: ReadSbomStream;
}

/** Later each time. */
const retryMs = (tries: number): number => Math.min(limits.sbomRetryMs * 2 ** Math.min(tries - 1, 20), limits.sbomRetryMaxMs);

const readDocument = async (openDocument: OpenDocument, read: ReadSbomStream, { repoUid, digest, documentDigest }: WaitingSbom): Promise<SbomReading> => {
  const content = await openDocument(repoUid, documentDigest);
  return content === undefined ? { problem: "is not in the repo" } : read(content, [digest]);
};

export const openSbomReaders = ({ services, openDocument, byHand, read = openSbomReader() }: SbomReadersOptions): SbomReaders => {
  const { store, clock, log } = services;
  /** Organizations, the one that was served last behind all others. */
  const served = new Set<string>();
  let stopped = false;

  const noteServed = (root: string): void => {
    served.delete(root);
    served.add(root);
    for (const oldest of served) {
      if (served.size <= limits.sbomServedMax) break;
      served.delete(oldest);
    }
  };

  const readOne = async (sbom: WaitingSbom): Promise<void> => {
    let reading: SbomReading;
    try {
      reading = await readDocument(openDocument, read, sbom);
    } catch (cause) {
      log("sbom.failed", { image: sbom.digest, repo: sbom.repoUid, document: sbom.documentDigest, tries: sbom.tries, cause });
      if (sbom.tries < limits.sbomTriesMax) return store.write((rows) => postponeSbom(rows, sbom, clock() + retryMs(sbom.tries)));
      reading = { problem: `could not be fetched in ${sbom.tries} tries` };
    }
    if ("problem" in reading) log("sbom.unreadable", { image: sbom.digest, repo: sbom.repoUid, document: sbom.documentDigest, problem: reading.problem });
    const result = reading;
    await store.write((rows) => completeSbom(rows, sbom, result, clock()));
  };

  /** The images of tags that were made, moved or deleted, and of SBOMs that were read. */
  const match = async (): Promise<void> => {
    await matchImages(services, { operation: "push", requestId: crypto.randomUUID() }, { ofTags: true });
    for (const root of await findUnmatchedRoots(store.read)) {
      if (stopped) return;
      const telling = { operation: "push", requestId: crypto.randomUUID() };
      // Tried again with the next turn.
      await matchImagesOf(services, root, telling).catch((cause: unknown) => log("images.unmatched", { organization: root, cause }));
    }
  };

  /** Where one fails for a reason of its own, the others are read all the same. */
  const runTurn = async (): Promise<void> => {
    while (!stopped && (await isSbomDue(store.read, clock()))) {
      const sbom = await store.write((rows) => claimSbom(rows, [...served], clock(), clock() + limits.sbomHoldMs));
      // Another server has taken it.
      if (sbom === undefined) break;
      noteServed(rootOf(sbom.uid));
      await readOne(sbom);
    }
    await match();
  };

  let running: Promise<void> | undefined;
  let again = false;
  /** One turn at a time; what is asked for meanwhile is one more behind it. */
  const turn = (): Promise<void> => {
    if (running !== undefined) {
      again = true;
      return running;
    }
    running = (async () => {
      do {
        again = false;
        await runTurn();
      } while (again && !stopped);
    })().finally(() => {
      running = undefined;
    });
    return running;
  };
  const timer = byHand ? undefined : setInterval(() => void turn().catch((cause: unknown) => log("sbom.turn.failed", { cause })), limits.sbomLookMs);
  timer?.unref();

  return {
    turn,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running?.catch(() => undefined);
    },
  };
};
