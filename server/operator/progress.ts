// A progress bar on a terminal; where the output goes elsewhere, nothing, or a line now and then.

import { limits } from "#base/limits.ts";

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly what: string;
}

const width = 30;

export const progressBar = (
  err: NodeJS.WriteStream,
  { lines = false }: { readonly lines?: boolean } = {},
): { show: (progress: Progress) => void; end: () => void } => {
  let shown = false;
  let toldMs = performance.now();
  return {
    show({ done, total, what }) {
      if (!err.isTTY) {
        if (!lines || performance.now() - toldMs < limits.progressLineMs) return;
        toldMs = performance.now();
        err.write(`${done}/${total} ${what}\n`);
        return;
      }
      shown = true;
      const filled = total === 0 ? width : Math.round((done / total) * width);
      err.write(`\r\u001b[2K[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${done}/${total} ${what}`);
    },
    end() {
      if (shown) err.write("\r\u001b[2K");
    },
  };
};
