// A progress bar on terminals; otherwise nothing or occasional lines.

import { limits } from "#base/limits.ts";

export interface Progress {
  readonly done: number;
  /** 0 if unknown. */
  readonly total: number;
  readonly what: string;
}

export interface ProgressBar {
  readonly update: (progress: Progress) => void;
  readonly end: () => void;
}

const widthColumns = 30;

/**
 * Opens a progress bar.
 *
 * @param lines prints occasional lines without a terminal
 */
export const openProgressBar = (err: NodeJS.WriteStream, { lines = false }: { readonly lines?: boolean } = {}): ProgressBar => {
  let drawn = false;
  let lastLineMs = performance.now();
  return {
    update({ done, total, what }) {
      const told = total === 0 ? `${done}` : `${done}/${total}`;
      if (!err.isTTY) {
        if (!lines || performance.now() - lastLineMs < limits.progressLineMs) return;
        lastLineMs = performance.now();
        err.write(`${told} ${what}\n`);
        return;
      }
      drawn = true;
      const filled = total === 0 ? widthColumns : Math.min(widthColumns, Math.round((done / total) * widthColumns));
      err.write(`\r\u001b[2K[${"#".repeat(filled)}${" ".repeat(widthColumns - filled)}] ${told} ${what}`);
    },
    end() {
      if (drawn) err.write("\r\u001b[2K");
    },
  };
};
