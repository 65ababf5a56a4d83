// Prompts for a choice, only with a terminal: a prompt in a pipeline or job would hang it.

import { askLine } from "./operations/ask.ts";
import type { Terminal } from "./terminal.ts";

type Asked = Pick<Terminal, "environment" | "err" | "input">;

/**
 * Returns whether prompting is possible: standard input and error are terminals and prompts are not disabled. `input` is false
 * with --no-input.
 */
export const canAsk = ({ environment, err, input: stream = process.stdin }: Asked, input: boolean): boolean =>
  input && !environment.GANTRY_NO_INPUT && stream.isTTY === true && err.isTTY === true;

/** Prompts for one of the choices and returns its index. Throws if the input ends. */
export const askChoice = async (terminal: Asked, title: string, choices: readonly string[], signal: AbortSignal): Promise<number> => {
  terminal.err.write(`${title}\n${choices.map((choice, index) => `  ${index + 1}  ${choice}\n`).join("")}`);
  for (;;) {
    const answer = await askLine(terminal, `Number (1 to ${choices.length}): `, signal);
    const chosen = /^\d{1,4}$/.test(answer) ? Number(answer) : 0;
    if (chosen >= 1 && chosen <= choices.length) return chosen - 1;
  }
};
