// A part of a file as a stream, in pieces.

import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { limits } from "#base/limits.ts";
import { notePassed } from "./young-memory.ts";

let openStreams = 0;

/**
 * Reads from `startBytes` to `endBytes`, and closes the file. Ends with an error where the file is shorter.
 */
export const streamOfFile = (file: FileHandle, startBytes: number, endBytes: number): Readable => {
  let at = startBytes;
  openStreams++;
  return new Readable({
    // One piece is read while another one is sent.
    highWaterMark: openStreams > limits.blobReadsLarge ? limits.blobReadBytesMin : limits.blobReadBytes,
    read() {
      const length = Math.min(openStreams > limits.blobReadsLarge ? limits.blobReadBytesMin : limits.blobReadBytes, endBytes - at);
      if (length === 0) {
        this.push(null);
        return;
      }
      file.read(Buffer.allocUnsafeSlow(length), 0, length, at).then(
        ({ bytesRead, buffer }) => {
          at += bytesRead;
          notePassed(bytesRead);
          if (bytesRead === 0) this.destroy(new Error(`the file ends at ${at}, before ${endBytes}`));
          else this.push(bytesRead === length ? buffer : buffer.subarray(0, bytesRead));
        },
        (thrown: unknown) => this.destroy(thrown instanceof Error ? thrown : new Error(String(thrown))),
      );
    },
    destroy(error, done) {
      openStreams--;
      file.close().then(
        () => done(error),
        () => done(error),
      );
    },
  });
};
