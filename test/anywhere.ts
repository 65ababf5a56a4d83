// The command line as a terminal runs it, without the price of a process for each command.

import { runGantry } from "./command-line.ts";
import { inShares } from "./length.ts";
import { environmentOfProgram, type Exit, gantry, type StartOptions } from "./story/processes.ts";

const inItsOwn = inShares(6);

/** What changes the process that it runs in: it listens to signals. */
const isOfItsProcess = ([name = ""]: readonly string[]): boolean => name === "serve";

/**
 * Runs `gantry` as a terminal does. Of a short run most commands run in this process, which comes to the same without a start of Node;
 * always in a process of their own what changes it, and what trusts authorities besides, which count for all of a process.
 */
export const gantryAnywhere = async (args: readonly string[], options: StartOptions = {}): Promise<Exit> => {
  if (isOfItsProcess(args) || options.env?.GANTRY_CA_FILE !== undefined || inItsOwn()) return gantry(args, options);
  const { status, out, err } = await runGantry(args, { environment: environmentOfProgram(options.env) });
  return { code: status, signal: null, stdout: out, stderr: err };
};
