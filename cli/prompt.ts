// Asking the person at the terminal. Only where there is one: a program that waits for an answer in a pipeline or a job hangs it.

import { createInterface } from "node:readline/promises";
import { declined } from "./exit-status.ts";
import type { Terminal } from "./terminal.ts";

export interface PromptOptions {
  /** False with --no-input. */
  readonly input?: boolean | undefined;
}

/** True where somebody can be asked: standard input and standard error are a terminal, and nobody has said not to ask. */
export const canAsk = ({ environment, err }: Pick<Terminal, "environment" | "err">, { input = true }: PromptOptions): boolean =>
  input && !environment.GANTRY_NO_INPUT && process.stdin.isTTY === true && err.isTTY === true;

/** The line that the person types; throws where they end the input. */
const ask = async (err: NodeJS.WriteStream, question: string): Promise<string> => {
  const lines = createInterface({ input: process.stdin, output: err });
  const ended = new Promise<never>((_, reject) => lines.once("close", () => reject(declined("nothing was chosen"))));
  try {
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    ended.catch(() => {});
    lines.close();
  }
};

/** Has the person choose one of these by its number. Gives the index. */
export const askChoice = async ({ err }: Pick<Terminal, "err">, title: string, choices: readonly string[]): Promise<number> => {
  err.write(`${title}\n${choices.map((choice, index) => `  ${index + 1}  ${choice}\n`).join("")}`);
  for (;;) {
    const answer = await ask(err, `Number (1 to ${choices.length}): `);
    const chosen = /^\d{1,4}$/.test(answer) ? Number(answer) : 0;
    if (chosen >= 1 && chosen <= choices.length) return chosen - 1;
  }
};
