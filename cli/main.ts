// The command line. Exit status: 0 all done, 1 failed, 2 done but some records refused (decisions: Command line); of what talks to a
// server, the kind of the failure (exit-status.ts).

import { trustAuthorities, version } from "#application";
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
  if (args[0] !== "serve") trustAuthorities(process.env);
  const { runCommand } = await import("./program.ts");
  return runCommand(args, terminal);
};

/** Says what a client command threw, with nothing in it that a terminal obeys. Gives the exit status. */
const failAsClient = async (thrown: unknown): Promise<number> => {
  const [{ exitStatusOf }, { onItsLines }] = await Promise.all([import("./exit-status.ts"), import("./output/escape.ts")]);
  if (!(thrown instanceof Error) || thrown.name !== "ApiError") {
    process.stderr.write(`gantry: ${onItsLines(failureText(thrown))}\n`);
    return exitStatusOf(thrown);
  }
  const { failureText: apiFailureText } = await import("./operations/failure.ts");
  const nothing = { flags: [], bodyPath: undefined, credential: undefined, server: undefined, serverOrigin: undefined };
  process.stderr.write(apiFailureText(thrown, { asJson: false, colored: false, ...nothing }));
  return exitStatusOf(thrown);
};

const args = process.argv.slice(2);
try {
  process.exitCode = await main(args);
} catch (thrown) {
  const { isClientCommand } = await import("./program.ts");
  if (isClientCommand(args)) process.exitCode = await failAsClient(thrown);
  else {
    const { exitStatus, isWrongUsage } = await import("./exit-status.ts");
    process.stderr.write(`gantry: ${failureText(thrown)}\n`);
    process.exitCode = isWrongUsage(thrown) ? exitStatus.usage : exitStatus.failed;
  }
}
