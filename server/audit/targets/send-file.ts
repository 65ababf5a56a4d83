// To a file: lines at its end, on the disk before they count as sent. Opened for each batch, so that a file that was renamed
// (logrotate) is left alone from the next batch on and a new one is made.

import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { Send } from "./send.ts";

const lineBreak = 10;

/** A new file must be found after a power cut, too. */
const syncPlaceOf = async (path: string): Promise<void> => {
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

export const sendToFile =
  (path: string): Send =>
  async (lines) => {
    const file = await open(path, "a+", 0o600);
    try {
      const { size } = await file.stat();
      const last = size > 0 ? await file.read(Buffer.alloc(1), 0, 1, size - 1) : undefined;
      // What a server that died has left of a line ends here, and comes again whole.
      const begin = last !== undefined && last.buffer[0] !== lineBreak ? "\n" : "";
      try {
        await file.appendFile(`${begin}${lines.join("\n")}\n`);
        await file.sync();
      } catch (thrown) {
        // A full disk is not filled with halves of the same lines.
        await file.truncate(size).catch(() => {});
        throw thrown;
      }
      if (size === 0) await syncPlaceOf(path);
    } finally {
      await file.close();
    }
  };
