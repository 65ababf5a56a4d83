// Prompts at a terminal. Without one, the command fails and names the flag to use.

import { declined } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

/** Returns the trimmed line. Throws if the input ends or the signal aborts. */
export const askLine = async ({ err, input = process.stdin }: Pick<Terminal, "err" | "input">, question: string, signal: AbortSignal): Promise<string> => {
  const lines = process.getBuiltinModule("node:readline/promises").createInterface({ input, output: err, terminal: false });
  const closed = new Promise<never>((_, reject) => lines.once("close", () => reject(declined("no input. Nothing was changed"))));
  closed.catch(() => {});
  try {
    return (await Promise.race([lines.question(question, { signal }), closed])).trim();
  } finally {
    lines.close();
  }
};
