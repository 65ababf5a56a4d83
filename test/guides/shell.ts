// Runs a guide's commands in a shell as a reader does, with `api` and other preparations of the guide.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface ShellResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the programs that this machine lacks. */
export const missingPrograms = (names: readonly string[]): string[] =>
  names.filter((name) => !(process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, name))));

/** Runs lines with bash, which stops at the first failure. */
export const runLines = (lines: string, env: Readonly<Record<string, string>>, cwd?: string): Promise<ShellResult> =>
  new Promise((resolve) => {
    const child = execFile(
      "bash",
      ["-e", "-o", "pipefail"],
      { env: { PATH: process.env.PATH ?? "", ...env }, timeout: 60_000, maxBuffer: 16 * 1024 * 1024, ...(cwd === undefined ? {} : { cwd }) },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
    child.stdin?.end(lines);
  });
