// A progress bar on a terminal; where the output goes elsewhere, nothing, or a line now and then.

import { limits } from "#base/limits.ts";

export interface Progress {
  readonly done: number;
  /** 0: nobody knows. */
  readonly total: number;
  readonly what: string;
}

export interface ProgressBar {
  readonly update: (progress: Progress) => void;
  /** Takes the bar away. */
  readonly end: () => void;
}

const widthColumns = 30;

/** @param lines without a terminal, a line now and then says how far it is */
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
      const filled = total === 0 ? widthColumns : Math.round((done / total) * widthColumns);
      err.write(`\r\u001b[2K[${"#".repeat(filled)}${" ".repeat(widthColumns - filled)}] ${told} ${what}`);
    },
    end() {
      if (drawn) err.write("\r\u001b[2K");
    },
  };
};
