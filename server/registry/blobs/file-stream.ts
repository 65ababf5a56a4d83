// A part of a file in pieces, read into two buffers in turn: the next piece is read while the one before is sent. No stream of Node's
// stands between the file and whoever sends it: with one, and a new buffer for each piece, a server sent a third of the bytes a second.

import { read } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { releaseBytes } from "#base/bytes.ts";
import { limits } from "#base/limits.ts";

let openFiles = 0;

const pieceBytesMax = (): number => (openFiles > limits.blobReadsLarge ? limits.blobReadBytesMin : limits.blobReadBytes);

interface Piece {
  /** All of the buffer. */
  readonly buffer: Buffer;
  readonly bytes: Buffer;
}

/** FileHandle's own method, without its promises: they cost a tenth of the whole. Reads something, or rejects. */
const readPiece = (file: FileHandle, buffer: Buffer, length: number, position: number): Promise<Piece> =>
  new Promise((resolve, reject) => {
    read(file.fd, buffer, 0, length, position, (error, bytesRead) => {
      if (error) reject(error);
      else if (bytesRead === 0) reject(new Error(`the file ends at ${position}, before its content does`));
      else resolve({ buffer, bytes: bytesRead === buffer.byteLength ? buffer : buffer.subarray(0, bytesRead) });
    });
  });

/**
 * The bytes from `startBytes` to `endBytes`; closes the file when they end or are left. A piece is good until the next one is asked for.
 * Throws where the file is shorter.
 */
export const piecesOfFile = (file: FileHandle, startBytes: number, endBytes: number): AsyncIterableIterator<Uint8Array> => {
  let given: Piece | undefined;
  let coming: Promise<Piece> | undefined;
  let at = startBytes;
  let isClosed = false;
  openFiles++;

  /** `spare`: a buffer that nobody needs any more. */
  const readAhead = (spare: Buffer | undefined): void => {
    const length = Math.min(pieceBytesMax(), endBytes - at);
    const fits = spare !== undefined && length > 0 && spare.byteLength >= length && spare.byteLength <= pieceBytesMax();
    if (spare && !fits) releaseBytes(spare);
    if (length === 0) return;
    coming = readPiece(file, fits ? spare : Buffer.allocUnsafeSlow(length), length, at);
    // Who asks for it hears of its failure.
    coming.catch(() => {});
  };
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    openFiles--;
    // The system writes into its buffer until it is done.
    await coming?.catch(() => {});
    coming = undefined;
    await file.close().catch(() => {});
  };
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    await close();
    return { value: undefined, done: true };
  };

  return {
    async next() {
      if (isClosed) return end();
      if (!coming) readAhead(undefined);
      const spare = given?.buffer;
      try {
        given = await coming;
      } catch (thrown) {
        await close();
        throw thrown;
      }
      coming = undefined;
      if (given) at += given.bytes.byteLength;
      readAhead(spare);
      return given ? { value: given.bytes, done: false } : end();
    },
    // What was given last may be on its way still: nobody else gets its buffer.
    return: end,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
};
