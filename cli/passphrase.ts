// A passphrase from a file or a hidden prompt. Never an argument, because every user of the machine can read those.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Fault } from "#base/fault.ts";
import { declined } from "./exit-status.ts";
import { canAsk } from "./prompt.ts";
import type { Terminal } from "./terminal.ts";

const readPassphraseFile = (file: string): string => {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/, 1)[0] ?? "";
  } catch (cause) {
    throw new Fault("INVALID_ARGUMENT", `--passphrase-file must name a readable file: ${file}`, { cause });
  }
};

const askUnseen = async ({ err, input = process.stdin }: Terminal, question: string): Promise<string> => {
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  const closed = new Promise<never>((_, reject) => lines.once("close", () => reject(declined("no passphrase given. Nothing was changed"))));
  closed.catch(() => {});
  err.write(question);
  try {
    return await Promise.race([lines.question(""), closed]);
  } finally {
    lines.close();
    err.write("\n");
  }
};

/**
 * Returns a function that gets the passphrase on demand; undefined if there is neither a file nor a terminal.
 *
 * @param isNew asks twice
 */
export const passphraseSource = (terminal: Terminal, file: string | undefined, isNew: boolean): (() => Promise<string>) | undefined => {
  if (file !== undefined) return async () => readPassphraseFile(file);
  if (!canAsk(terminal, true)) return undefined;
  return async () => {
    const passphrase = await askUnseen(terminal, "Passphrase for the backup key: ");
    if (isNew && (await askUnseen(terminal, "Repeat the passphrase: ")) !== passphrase) throw new Fault("INVALID_ARGUMENT", "the passphrases do not match");
    return passphrase;
  };
};
