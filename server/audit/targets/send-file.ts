// Appends to a file and syncs it before confirming. Opened per batch, so that log rotation by renaming works.

import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { Send } from "./send.ts";

const lineBreak = 10;

/** A new file must survive a power failure. */
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
      // Ends the partial line of a crashed server; the entry is sent again.
      const begin = last !== undefined && last.buffer[0] !== lineBreak ? "\n" : "";
      try {
        await file.appendFile(`${begin}${lines.join("\n")}\n`);
        await file.sync();
      } catch (thrown) {
        // Retries must not fill a full disk with partial lines.
        await file.truncate(size).catch(() => {});
        throw thrown;
      }
      if (size === 0) await syncPlaceOf(path);
    } finally {
      await file.close();
    }
  };
