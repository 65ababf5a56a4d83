// Runs a command and returns its exit status: 0 success, 1 failure, 2 partial success (decisions: Command line); for client
// commands the kind of error (exit-status.ts). Errors go to standard error.

import { version } from "#application";
import { Fault } from "#base/fault.ts";
import type { Terminal } from "./terminal.ts";

/** Returns one line for the user. Internal errors include their cause, because the user operates this machine. */
export const failureText = (thrown: unknown): string => {
  const error = thrown instanceof Fault && thrown.code === "INTERNAL" ? (thrown.cause ?? thrown) : thrown;
  if (!(error instanceof Error)) return String(error);
  return error instanceof Fault ? error.message : (error.stack ?? error.message);
};

/** -o json or jsonl: errors must be machine-readable too. */
const asksForJson = (args: readonly string[]): boolean =>
  args.some((word, index) => /^(?:--output=|-o=?)?jsonl?$/.test(word) && (word.startsWith("-") || ["-o", "--output"].includes(args[index - 1] ?? "")));

/** Prints the error of a client command, escaped for the terminal. Returns the exit status. */
const failAsClient = async (thrown: unknown, args: readonly string[], { err }: Terminal): Promise<number> => {
  const [{ exitStatusOf }, { onItsLines }] = await Promise.all([import("./exit-status.ts"), import("./output/escape.ts")]);
  const asJson = asksForJson(args);
  if (!asJson && (!(thrown instanceof Error) || thrown.name !== "ApiError")) {
    err.write(`gantry: ${onItsLines(failureText(thrown))}\n`);
    return exitStatusOf(thrown);
  }
  const { failureText: apiFailureText } = await import("./operations/failure.ts");
  const nothing = { flags: [], bodyPath: undefined, credential: undefined, server: undefined, serverOrigin: undefined };
  err.write(apiFailureText(thrown, { asJson, colored: false, ...nothing }));
  return exitStatusOf(thrown);
};

/**
 * Runs a command.
 *
 * @param prepare work of the process before the command
 */
export const runToStatus = async (args: readonly string[], terminal: Terminal, prepare: () => void = () => {}): Promise<number> => {
  // Skips the parser, whose loading takes longer than the rest.
  if (args[0] === "--version" || args[0] === "-v") {
    terminal.out.write(`gantry ${version}\n`);
    return 0;
  }
  try {
    prepare();
    const { runCommand } = await import("./program.ts");
    return await runCommand(args, terminal);
  } catch (thrown) {
    const { isClientCommand } = await import("./program.ts");
    if (isClientCommand(args)) return failAsClient(thrown, args, terminal);
    const { exitStatus, isWrongUsage } = await import("./exit-status.ts");
    terminal.err.write(`gantry: ${failureText(thrown)}\n`);
    return isWrongUsage(thrown) ? exitStatus.usage : exitStatus.failed;
  }
};
