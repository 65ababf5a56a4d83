// Runs commands as in a terminal, mostly without a process each.

import { runGantry } from "./command-line.ts";
import { inShares } from "./length.ts";
import { environmentOfProgram, type Exit, gantry, type StartOptions } from "./story/processes.ts";

const inItsOwn = inShares(6);

/** Commands that handle signals, use a working directory or trust other authorities affect the whole process. */
const needsItsProcess = ([name = ""]: readonly string[], { env, cwd }: StartOptions): boolean =>
  name === "serve" || cwd !== undefined || env?.GANTRY_CA_FILE !== undefined;

/**
 * Runs `gantry`. In a short run most commands run in this process, with the same result and without Node's start
 * (test/command-line.ts). One in six has its own process, as do commands that need one.
 */
export const gantryAnywhere = async (args: readonly string[], options: StartOptions = {}): Promise<Exit> => {
  if (needsItsProcess(args, options) || inItsOwn()) return gantry(args, options);
  const { status, out, err } = await runGantry(args, { environment: environmentOfProgram(options.env) });
  return { code: status, signal: null, stdout: out, stderr: err };
};
