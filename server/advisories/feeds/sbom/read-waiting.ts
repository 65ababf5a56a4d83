// Reads pushed SBOMs, scanner reports and VEX in the background (store/image-sboms.ts, pushed-reports.ts, vex-statements.ts), then
// matches their images.
// Each row is leased to one server. After a crash any server continues, because queue and results are in the database.

import { randomBytes } from "node:crypto";
import { limits } from "#base/limits.ts";
import { openServedList } from "#base/served-list.ts";
import type { Services } from "#kernel";
import {
  addExpiredToMatch,
  claimSbom,
  completeSbom,
  findImageRoots,
  findUnmatchedRoots,
  isDecisionExpired,
  isSbomDue,
  isUnreadChanged,
  postponeSbom,
  refreshUnreadImages,
  refreshUnreadPiece,
  type UnreadPiece,
  type WaitingSbom,
  writeFindingDay,
} from "#advisories/store";
import { openTurnLoop } from "#db";
import { openDueDates } from "../due-dates.ts";
import { recordCoverageChanges } from "../coverage-events.ts";
import { recordPassedTimes } from "../finding-events.ts";
import { updateFindings } from "../finding-facts.ts";
import { matchImages, matchImagesOf } from "../match-images.ts";
import { openReportQueue } from "../reports/pushed-reports.ts";
import { openVexQueue, openVexScanQueue } from "../vex/pushed-vex.ts";
import { type OpenDocument, openDocumentQueue } from "./document-queue.ts";
import { openSbomReader, type ReadSbomStream } from "./open-reader.ts";
import type { SbomReading } from "./read-sbom.ts";

export interface SbomReaders {
  /** Reads all due documents, one at a time, and matches. */
  turn(): Promise<void>;
  stop(): Promise<void>;
}

export interface SbomReadersOptions {
  readonly services: Services;
  readonly openDocument: OpenDocument;
  /** Turns start on request only. */
  readonly byHand: boolean;
  readonly read?: ReadSbomStream;
}

class Stopped extends Error {}

export const openSbomReaders = ({ services, openDocument, byHand, read = openSbomReader() }: SbomReadersOptions): SbomReaders => {
  const { store, log, clock } = services;
  const served = openServedList(limits.sbomServedMax);
  const updateDueDates = openDueDates(services);
  let stopped = false;
  let countedMs = Number.NEGATIVE_INFINITY;
  let coverageMs = Number.NEGATIVE_INFINITY;

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
    openVexQueue(services, openDocument),
    openVexScanQueue(services, openDocument),
  ];

  /** Matches images of changed tags and of newly read SBOMs, and findings with new, deleted or expired decisions. */
  const match = async (): Promise<void> => {
    const nowMs = clock();
    if (await isDecisionExpired(store.read, nowMs)) await store.write((rows) => addExpiredToMatch(rows, nowMs));
    await matchImages(services, { operation: "push", requestId: crypto.randomUUID() }, { ofTags: true });
    for (const root of await findUnmatchedRoots(store.read)) {
      if (stopped) return;
      const telling = { operation: "push", requestId: crypto.randomUUID() };
      // The next turn retries.
      await matchImagesOf(services, root, telling).catch((cause: unknown) => log("images.unmatched", { organization: root, cause }));
    }
  };

  /** A repo with many tags, written in pieces by turns with the others, so that no transaction takes long. */
  let large: UnreadPiece | undefined;

  /** Returns whether repos may be left. */
  const refreshSome = async (repos: number): Promise<boolean> => {
    const piece = large;
    large = undefined;
    large = piece && (await store.write((rows) => refreshUnreadPiece(rows, piece, limits.unreadImagesTags)));
    const start = randomBytes(20).toString("hex");
    const bounds = { repos, tags: limits.unreadImagesTags };
    const refreshed = await store.write((rows) => refreshUnreadImages(rows, start, bounds, piece?.repoUid));
    large ??= refreshed.large;
    return refreshed.isMore || large !== undefined;
  };

  /**
   * A list reads the tags of repos that are left, so a later turn continues, and retries after a failure. Repos that fail together are written
   * one by one, so that none keeps the others waiting.
   */
  const refreshUnread = async (): Promise<void> => {
    const endMs = performance.now() + limits.unreadImagesTurnMs;
    let together: number = limits.unreadImagesRepos;
    for (let isMore = await isUnreadChanged(store.read); isMore && !stopped && performance.now() < endMs; )
      isMore = await refreshSome(together).catch((cause: unknown) => {
        log("images.unread.failed", { cause });
        const isAlone = together === 1;
        together = 1;
        return !isAlone;
      });
  };

  /** Counts the findings of the day, also after the clock was set back. A failed organization does not stop the others. */
  const countDay = async (): Promise<void> => {
    const nowMs = clock();
    if (Math.abs(nowMs - countedMs) < limits.findingDayMs) return;
    countedMs = nowMs;
    for (const root of await findImageRoots(store.read)) {
      if (stopped) return;
      await store.write((rows) => writeFindingDay(rows, root, nowMs)).catch((cause: unknown) => log("findings.uncounted", { organization: root, cause }));
    }
  };

  /** Coverage changes with time, so it is compared at intervals, also after the clock was set back. */
  const checkCoverage = async (): Promise<void> => {
    const nowMs = clock();
    if (Math.abs(nowMs - coverageMs) < limits.coverageCheckMs) return;
    coverageMs = nowMs;
    await recordCoverageChanges(services);
  };

  /** A failed document does not stop the others. */
  const runTurn = async (): Promise<void> => {
    for (let isAnyRead = true; isAnyRead; ) {
      isAnyRead = false;
      // No kind waits for the whole queue of another.
      for (const queue of queues) {
        const root = stopped ? undefined : await queue.readNext(served.list());
        if (root === undefined) continue;
        served.note(root);
        isAnyRead = true;
      }
    }
    await match();
    await refreshUnread();
    // The rest of an interrupted import, or the first time after an upgrade.
    await updateFindings(services, () => (stopped ? Promise.reject(new Stopped()) : Promise.resolve())).catch((cause: unknown) => {
      if (!(cause instanceof Stopped)) throw cause;
    });
    await updateDueDates(() => !stopped);
    await recordPassedTimes(services);
    await checkCoverage();
    await countDay();
  };

  const loop = openTurnLoop({
    changes: store.changes,
    betweenMs: limits.sbomLookMs,
    restMs: limits.restLookMs,
    byHand,
    runTurn,
    onFailure: (cause) => log("sbom.turn.failed", { cause }),
  });

  return {
    turn: loop.turn,
    stop: () => {
      stopped = true;
      return loop.stop();
    },
  };
};
