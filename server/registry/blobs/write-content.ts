// Writes content into an open file from a position, durably.

import type { FileHandle } from "node:fs/promises";
import { limits } from "#base/limits.ts";
import type { BufferPair, WriteSlots } from "./write-slots.ts";
import { notePassed } from "./young-memory.ts";

const writeAll = async (file: FileHandle, bytes: Uint8Array, position: number): Promise<void> => {
  for (let at = 0; at < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.byteLength - at, position + at);
    if (bytesWritten === 0) throw new Error("nothing was written");
    at += bytesWritten;
  }
};

/** Syncs during the write, so that little is left at the end, when failures are thrown. */
const syncingBeside = (file: FileHandle): { readonly note: (writtenBytes: number) => void; readonly ended: () => Promise<void> } => {
  let syncing: Promise<void> = Promise.resolve();
  let isSyncing = false;
  let unsyncedBytes = 0;
  return {
    note(writtenBytes) {
      unsyncedBytes += writtenBytes;
      if (isSyncing || unsyncedBytes < limits.blobSyncBytes) return;
      isSyncing = true;
      unsyncedBytes = 0;
      syncing = syncing
        .then(() => file.datasync())
        .finally(() => {
          isSyncing = false;
        });
      syncing.catch(() => {});
    },
    ended: () => syncing,
  };
};

const idle = Symbol("idle");

/** One timer per turn: one per piece would cost more than the piece. */
const watchIdle = (): { readonly came: () => void; readonly soon: <T>(coming: Promise<T>) => Promise<T | typeof idle>; readonly end: () => void } => {
  let isLate = (): void => {};
  const late = new Promise<typeof idle>((resolve) => (isLate = () => resolve(idle)));
  const timer = setTimeout(() => isLate(), limits.blobTurnIdleMs);
  return { came: () => void timer.refresh(), soon: (coming) => Promise.race([coming, late]), end: () => clearTimeout(timer) };
};

type Coming = Promise<IteratorResult<Uint8Array>>;

export interface ContentToWrite {
  readonly startBytes: number;
  readonly first: Uint8Array;
  readonly rest: AsyncIterator<Uint8Array>;
  readonly signal: AbortSignal | undefined;
}

/**
 * Writes the content and syncs the file; returns its new size. No write is pending when it ends. @param requireSpace throws if the
 * disk lacks space
 */
export const writeContent = async (file: FileHandle, turns: WriteSlots, content: ContentToWrite, requireSpace: () => Promise<void>): Promise<number> => {
  const { rest, signal } = content;
  const syncing = syncingBeside(file);
  let sizeBytes = content.startBytes;
  let lookedAtBytes = sizeBytes;

  /**
   * Ends when the turn is used up or the client is idle. `given` comes first. Returns the pending piece, if any: none after a full
   * turn, so that waiting uses little memory.
   */
  const writeTurn = async (pair: BufferPair, given: Uint8Array | undefined): Promise<{ readonly coming: Coming | undefined }> => {
    let [filling, other] = pair;
    let [filledBytes, turnBytes] = [0, 0];
    let writing: Promise<void> = Promise.resolve();
    const flush = async (): Promise<void> => {
      await writing;
      if (sizeBytes - lookedAtBytes >= limits.blobSpaceLookBytes) {
        lookedAtBytes = sizeBytes;
        await requireSpace();
      }
      writing = writeAll(file, filling.subarray(0, filledBytes), sizeBytes);
      writing.catch(() => {});
      syncing.note(filledBytes);
      sizeBytes += filledBytes;
      [filling, other] = [other, filling];
      filledBytes = 0;
    };
    const add = async (piece: Uint8Array): Promise<void> => {
      signal?.throwIfAborted();
      for (let at = 0; at < piece.byteLength; ) {
        const taken = Math.min(filling.byteLength - filledBytes, piece.byteLength - at);
        filling.set(piece.subarray(at, at + taken), filledBytes);
        filledBytes += taken;
        at += taken;
        if (filledBytes === filling.byteLength) await flush();
      }
      turnBytes += piece.byteLength;
      notePassed(piece.byteLength);
    };
    const watch = watchIdle();
    try {
      if (given) await add(given);
      while (turnBytes < limits.blobTurnBytes) {
        watch.came();
        const coming = rest.next();
        // The awaiting code handles rejections.
        coming.catch(() => {});
        const found = await watch.soon(coming);
        if (found === idle || found.done === true) {
          await flush();
          await writing;
          return { coming };
        }
        await add(found.value);
      }
      await flush();
      await writing;
      return { coming: undefined };
    } finally {
      watch.end();
      await writing.catch(() => {});
    }
  };

  try {
    for (let given: Uint8Array | undefined = content.first; ; ) {
      const pair = await turns.take();
      const turn: { readonly coming: Coming | undefined } = await writeTurn(pair, given).finally(() => turns.give(pair));
      const next: IteratorResult<Uint8Array> | undefined = await turn.coming;
      if (next?.done === true) break;
      given = next?.value;
    }
    await syncing.ended();
    await file.sync();
    return sizeBytes;
  } finally {
    await syncing.ended().catch(() => {});
  }
};
