// A command from its arguments to its exit status: 0 all done, 1 failed, 2 done but some records refused (decisions: Command line); of
// what talks to a server, the kind of the failure (exit-status.ts). What it throws is told on standard error.

import { version } from "#application";
import { Fault } from "#base/fault.ts";
import type { Terminal } from "./terminal.ts";

/** One line for the person; whoever runs a command owns the machine, and an error of ours is shown with its cause. */
export const failureText = (thrown: unknown): string => {
  const error = thrown instanceof Fault && thrown.code === "INTERNAL" ? (thrown.cause ?? thrown) : thrown;
  if (!(error instanceof Error)) return String(error);
  return error instanceof Fault ? error.message : (error.stack ?? error.message);
};

/** -o json or jsonl: an error, too, is for a program then. */
const asksForJson = (args: readonly string[]): boolean =>
  args.some((word, index) => /^(?:--output=|-o=?)?jsonl?$/.test(word) && (word.startsWith("-") || ["-o", "--output"].includes(args[index - 1] ?? "")));

/** Says what a client command threw, with nothing in it that a terminal obeys. Gives the exit status. */
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

/** @param prepare what the process itself is to do before a command runs */
export const runToStatus = async (args: readonly string[], terminal: Terminal, prepare: () => void = () => {}): Promise<number> => {
  // Without the parser, which takes longer to load than all the rest of it.
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
