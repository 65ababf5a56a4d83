// Mutation tests of defences: each mutant removes one defence that a row of docs/attacks.md names, and a test must fail.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One defence, removed by replacing a text that occurs exactly once in a file. */
export interface Mutant {
  /** The row of docs/attacks.md. */
  readonly attack: number;
  /** From the project's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Test files that should notice, from the project's root (default: those that the row names). */
  readonly tests?: readonly string[];
}

/** A row of docs/attacks.md. */
export interface AttackRow {
  readonly number: number;
  /** Test files that the row names, from the project's root. */
  readonly tests: readonly string[];
}

/** Returns the rows of docs/attacks.md in the order of the page. */
export const readAttackRows = (root: string): readonly AttackRow[] =>
  readFileSync(join(root, "docs/attacks.md"), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, number] = /^\| (\d+) \|/.exec(line) ?? [];
      if (number === undefined) return [];
      const tests = [...line.matchAll(/\]\(\.\.\/([^)]+\.test\.ts)\)/g)].map(([, path = ""]) => path);
      return [{ number: Number(number), tests }];
    });

/** Returns why a mutant can no longer be applied; undefined if its text occurs exactly once. */
export const staleReason = (root: string, { file, find, replace }: Mutant): string | undefined => {
  if (find === replace) return "the replacement equals the text";
  let source: string;
  try {
    source = readFileSync(join(root, file), "utf8");
  } catch {
    return `${file} not found`;
  }
  const occurrences = source.split(find).length - 1;
  return occurrences === 1 ? undefined : `the text occurs ${occurrences} times in ${file}, and must occur once`;
};

/** Returns the source of the mutant's file with the defence removed. */
export const mutatedSource = (root: string, { file, find, replace }: Mutant): string => readFileSync(join(root, file), "utf8").replace(find, () => replace);

/** Returns the numbers of rows without a mutant, in the order of the page. */
export const rowsWithoutMutant = (rows: readonly AttackRow[], mutants: readonly Mutant[]): readonly number[] => {
  const covered = new Set(mutants.map(({ attack }) => attack));
  return rows.map(({ number }) => number).filter((number) => !covered.has(number));
};
