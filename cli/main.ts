// The command line. Exit status: 0 all done, 1 failed, 2 done but some records refused (decisions: Command line), 64 for arguments
// that mean nothing; commands that talk to a server have further ones (exit-status.ts).

import { version } from "#application";
import { Fault } from "#base/fault.ts";
import { jsonLog } from "#base/log.ts";
import type { Terminal } from "./terminal.ts";

/** One line for the person; whoever runs a command owns the machine, and an error of ours is shown with its cause. */
const failureText = (thrown: unknown): string => {
  const error = thrown instanceof Fault && thrown.code === "INTERNAL" ? (thrown.cause ?? thrown) : thrown;
  if (!(error instanceof Error)) return String(error);
  return error instanceof Fault ? error.message : (error.stack ?? error.message);
};

const main = async (args: readonly string[]): Promise<number> => {
  const { stdout: out, stderr: err } = process;
  // Without the parser, which takes longer to load than all the rest of it.
  if (args[0] === "--version" || args[0] === "-v") {
    out.write(`gantry ${version}\n`);
    return 0;
  }
  const terminal: Terminal = { environment: process.env, log: jsonLog((line) => err.write(line)), out, err, status: 0 };
  const { runCommand } = await import("./program.ts");
  return runCommand(args, terminal);
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  process.stderr.write(`gantry: ${failureText(thrown)}\n`);
  const { exitStatus, isWrongUsage } = await import("./exit-status.ts");
  process.exitCode = isWrongUsage(thrown) ? exitStatus.usage : exitStatus.failed;
}
