// The command line as a terminal runs it, without the price of a process for each command.

import { runGantry } from "./command-line.ts";
import { inShares } from "./length.ts";
import { environmentOfProgram, type Exit, gantry, type StartOptions } from "./story/processes.ts";

const inItsOwn = inShares(6);

/** What listens to signals, looks around in a folder, or trusts authorities besides, which count for all of a process. */
const needsItsProcess = ([name = ""]: readonly string[], { env, cwd }: StartOptions): boolean =>
  name === "serve" || cwd !== undefined || env?.GANTRY_CA_FILE !== undefined;

/**
 * Runs `gantry` as a terminal does. Of a short run most commands run in this process, which comes to the same without a start of Node
 * (test/command-line.ts); one in six has a process of its own, and so has what needs one.
 */
export const gantryAnywhere = async (args: readonly string[], options: StartOptions = {}): Promise<Exit> => {
  if (needsItsProcess(args, options) || inItsOwn()) return gantry(args, options);
  const { status, out, err } = await runGantry(args, { environment: environmentOfProgram(options.env) });
  return { code: status, signal: null, stdout: out, stderr: err };
};
