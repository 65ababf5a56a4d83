// Reads the SBOMs and the reports of scanners that pushes have left to be read (store/image-sboms.ts, pushed-reports.ts), behind their
// answers, and then matches the images of their organizations with advisories. Every server does so; a row is held by one at a time.
// What is killed meanwhile is taken up again, by this server or another, since row and result are in the database.

import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import { claimSbom, completeSbom, findUnmatchedRoots, isSbomDue, postponeSbom, type WaitingSbom } from "#advisories/store";
import { openLooks } from "#db";
import { matchImages, matchImagesOf } from "../match-images.ts";
import { openReportQueue } from "../reports/pushed-reports.ts";
import { type OpenDocument, openDocumentQueue } from "./document-queue.ts";
import { openSbomReader, type ReadSbomStream } from "./open-reader.ts";
import type { SbomReading } from "./read-sbom.ts";

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

export const openSbomReaders = ({ services, openDocument, byHand, read = openSbomReader() }: SbomReadersOptions): SbomReaders => {
  const { store, log } = services;
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

  const queues = [
    openDocumentQueue<WaitingSbom, SbomReading>(services, openDocument, {
      name: "sbom",
      isDue: isSbomDue,
      claim: claimSbom,
      postpone: postponeSbom,
      complete: completeSbom,
      read,
    }),
    openReportQueue(services, openDocument),
  ];

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
    for (let isAnyRead = true; isAnyRead; ) {
      isAnyRead = false;
      // In turns, so that no kind waits for all of the other.
      for (const queue of queues) {
        const root = stopped ? undefined : await queue.readNext([...served]);
        if (root === undefined) continue;
        noteServed(root);
        isAnyRead = true;
      }
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
  // What is due again by time alone is found by the looks at rest.
  const looks = openLooks(store.changes, { betweenMs: limits.sbomLookMs, restMs: limits.restLookMs });
  const looking = async (): Promise<void> => {
    while (!stopped) {
      await turn().catch((cause: unknown) => {
        looks.again();
        log("sbom.turn.failed", { cause });
      });
      if (!stopped) await looks.next();
    }
  };
  const loop = byHand ? undefined : looking();

  return {
    turn,
    stop: async () => {
      stopped = true;
      looks.wake();
      await loop;
      await running?.catch(() => undefined);
    },
  };
};
