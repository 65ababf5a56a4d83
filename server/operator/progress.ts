// A progress bar on a terminal; silent where the output goes elsewhere.

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly what: string;
}

const width = 30;

export const progressBar = (err: NodeJS.WriteStream): { show: (progress: Progress) => void; end: () => void } => {
  let shown = false;
  return {
    show({ done, total, what }) {
      if (!err.isTTY) return;
      shown = true;
      const filled = total === 0 ? width : Math.round((done / total) * width);
      err.write(`\r\u001b[2K[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${done}/${total} ${what}`);
    },
    end() {
      if (shown) err.write("\r\u001b[2K");
    },
  };
};
