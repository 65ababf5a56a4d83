// A question at a terminal. Nobody is asked who is not there: then the command says what answers it.

import { declined } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

/** What is typed, without blanks at its ends. Throws where the input ends, or the signal does. */
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
