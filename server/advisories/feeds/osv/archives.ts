// Archives of published records, built once per state of the records and sent from disk (docs/decisions/0025). The files have no
// name, so that a killed server leaves nothing behind.

import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { openTemporaryFile, type StoredFile, type TemporaryFile } from "../stored-file.ts";
import { crc32c, googHashOf } from "./crc32c.ts";

export interface PreparedArchive {
  /** A strong ETag of the bytes. */
  readonly etag: string;
  /** X-Goog-Hash. */
  readonly hash: string;
  readonly sizeBytes: number;
  /** When this server first had these bytes. */
  readonly modifiedMs: number;
  /**
   * Returns the bytes from `start` to before `end`, with the first piece read. The file stays open until the last. Undefined if
   * the archive has been replaced.
   */
  read(start: number, end: number): Promise<AsyncGenerator<Uint8Array> | undefined>;
}

export interface Archives {
  /**
   * Builds the archive ("" for all ecosystems) if needed. Returns undefined if that takes too long, the records change, or space
   * is short.
   */
  find(ecosystem: string): Promise<PreparedArchive | undefined>;
  /** Rebuilds recently read archives, one at a time, if their records changed and were then stable since the last call. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface ArchivesOptions {
  readonly readState: () => Promise<string>;
  readonly pieces: (ecosystem: string) => AsyncIterable<Uint8Array>;
  readonly folder: string;
  readonly clock: () => number;
  readonly log: Log;
  readonly bytesMax?: number;
  readonly waitMs?: number;
  readonly lookMs?: number;
}

interface Held extends PreparedArchive {
  readonly ecosystem: string;
  readonly state: string;
  usedMs: number;
  readers: number;
  isDropped: boolean;
  readonly file: TemporaryFile;
}

const makePrivateFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  }
};

const pieceBytes = 256 * 1024;

async function* pieceAfterPiece(held: Held, stored: StoredFile, start: number, end: number): AsyncGenerator<Uint8Array> {
  held.readers++;
  try {
    for (let at = start; at < end; at += pieceBytes) {
      const piece = await stored.read(at, Math.min(pieceBytes, end - at));
      if (piece.length === 0) throw new Fault("INTERNAL", "an archive is shorter than it was written");
      yield piece;
    }
  } finally {
    held.readers--;
    await closeUnread(held);
  }
}

const closeUnread = async (held: Held): Promise<void> => {
  if (held.isDropped && held.readers === 0) await held.file.close();
};

async function* withFirst(first: IteratorResult<Uint8Array>, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return(undefined);
  }
}

export const openArchives = ({
  readState,
  pieces,
  folder,
  clock,
  log,
  bytesMax = limits.archiveFilesBytesMax,
  waitMs = limits.archiveWaitMs,
  lookMs = limits.archiveLookMs,
}: ArchivesOptions): Archives => {
  /** The last used at the end. */
  const archives = new Map<string, Held>();
  const making = new Map<string, Promise<Held | undefined>>();
  /** When the next build may start after a slow failure. */
  const restUntil = new Map<string, number>();
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();
  let lastState = "";

  const heldBytes = (): number => [...archives.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

  const drop = async (held: Held): Promise<void> => {
    if (archives.get(held.ecosystem) === held) archives.delete(held.ecosystem);
    held.isDropped = true;
    await closeUnread(held);
  };

  /** Evicts the least recently used archives. */
  const evictFor = async (bytes: number, files: number): Promise<void> => {
    for (const held of [...archives.values()]) {
      if (heldBytes() + bytes <= bytesMax && archives.size + files <= limits.archiveFilesMax) return;
      await drop(held);
    }
    if (bytes > bytesMax) throw new Fault("UNAVAILABLE", `an archive is longer than ${bytesMax} bytes`);
  };

  const write = async (ecosystem: string, state: string): Promise<Held | undefined> => {
    await makePrivateFolder(dirname(folder));
    await makePrivateFolder(folder);
    const file = await openTemporaryFile(folder);
    try {
      const digest = createHash("sha256");
      let [sum, sizeBytes] = [0, 0];
      for await (const piece of pieces(ecosystem)) {
        if (isClosed) throw new Fault("ABORTED", "the server is stopping");
        sizeBytes += piece.byteLength;
        await evictFor(sizeBytes, 1);
        digest.update(piece);
        sum = crc32c(piece, sum);
        await file.append(piece);
      }
      // Read in many statements, so valid only if the state is unchanged.
      if ((await readState()) !== state || isClosed) {
        await file.close();
        return undefined;
      }
      const etag = `"${digest.digest("base64url").slice(0, 27)}"`;
      const before = archives.get(ecosystem);
      const now = clock();
      const stored = file.read();
      const held: Held = {
        ecosystem,
        state,
        etag,
        hash: googHashOf(sum),
        sizeBytes,
        // HTTP times have whole seconds.
        modifiedMs: before === undefined ? now : before.etag === etag ? before.modifiedMs : Math.max(now, before.modifiedMs + 1000),
        usedMs: before?.usedMs ?? now,
        readers: 0,
        isDropped: false,
        file,
        async read(start, end) {
          if (held.isDropped) return undefined;
          const rest = pieceAfterPiece(held, stored, start, end);
          return withFirst(await rest.next(), rest);
        },
      };
      if (before) await drop(before);
      await evictFor(sizeBytes, 1);
      archives.set(ecosystem, held);
      return held;
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  };

  /** Builds one archive at a time. */
  const make = (ecosystem: string, state: string): Promise<Held | undefined> => {
    const known = making.get(ecosystem);
    if (known !== undefined) return known;
    const work = async (): Promise<Held | undefined> => {
      const beganMs = performance.now();
      let held: Held | undefined;
      try {
        if (!isClosed) held = await write(ecosystem, state);
      } catch (thrown) {
        if (!isClosed) log("archive.failed", { ecosystem, cause: thrown });
      }
      making.delete(ecosystem);
      const tookMs = performance.now() - beganMs;
      if (held === undefined && tookMs > limits.archiveQuickMs) restUntil.set(ecosystem, performance.now() + 4 * tookMs);
      else restUntil.delete(ecosystem);
      return held;
    };
    const made = last.then(work);
    making.set(ecosystem, made);
    last = made;
    return made;
  };

  const isResting = (ecosystem: string): boolean => (restUntil.get(ecosystem) ?? 0) > performance.now();

  const refresh = async (): Promise<void> => {
    if (archives.size === 0 || isClosed) return;
    const state = await readState();
    const isQuiet = state === lastState;
    lastState = state;
    if (!isQuiet) return;
    for (const held of [...archives.values()]) {
      if (held.state === state) continue;
      if (clock() - held.usedMs > limits.archiveUnusedMs) await drop(held);
      else if (!isResting(held.ecosystem)) await make(held.ecosystem, state);
    }
  };

  // The next request reports a failure.
  const timer = setInterval(() => void refresh().catch(() => {}), lookMs).unref();

  const waited = async (made: Promise<Held | undefined>): Promise<Held | undefined> => {
    let timeout: NodeJS.Timeout | undefined;
    const tooLong = new Promise<undefined>((resolve) => {
      timeout = setTimeout(resolve, waitMs, undefined);
    });
    try {
      return await Promise.race([made, tooLong]);
    } finally {
      clearTimeout(timeout);
    }
  };

  return {
    async find(ecosystem) {
      const state = await readState();
      let held = archives.get(ecosystem);
      if (held?.state !== state) {
        if (isResting(ecosystem)) return undefined;
        held = await waited(make(ecosystem, state));
        // A build started earlier may lack a change that this request must see.
        if (!held || held.isDropped || held.state !== (await readState())) return undefined;
      }
      held.usedMs = clock();
      archives.delete(ecosystem);
      archives.set(ecosystem, held);
      return held;
    },
    refresh,
    async close() {
      isClosed = true;
      clearInterval(timer);
      await last;
      for (const held of [...archives.values()]) await drop(held);
    },
  };
};
