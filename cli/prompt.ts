// Having the person at the terminal choose. Only where there is one: a program that waits for an answer in a pipeline or a job
// hangs it.

import { askLine } from "./operations/ask.ts";
import type { Terminal } from "./terminal.ts";

type Asked = Pick<Terminal, "environment" | "err" | "input">;

/** True where somebody can be asked: standard input and standard error are a terminal, and nobody has said not to ask. `input`: false by --no-input. */
export const canAsk = ({ environment, err, input: stream = process.stdin }: Asked, input: boolean): boolean =>
  input && !environment.GANTRY_NO_INPUT && stream.isTTY === true && err.isTTY === true;

/** Has the person choose one of these by its number. Gives the index. Throws where they end the input. */
export const askChoice = async (terminal: Asked, title: string, choices: readonly string[], signal: AbortSignal): Promise<number> => {
  terminal.err.write(`${title}\n${choices.map((choice, index) => `  ${index + 1}  ${choice}\n`).join("")}`);
  for (;;) {
    const answer = await askLine(terminal, `Number (1 to ${choices.length}): `, signal);
    const chosen = /^\d{1,4}$/.test(answer) ? Number(answer) : 0;
    if (chosen >= 1 && chosen <= choices.length) return chosen - 1;
  }
};
