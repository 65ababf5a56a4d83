// The command line. Exit status: 0 all done, 1 failed, 2 done but some records refused (decisions: Command line).

import { parseArgs } from "node:util";
import { Fault } from "#base/fault.ts";
import { jsonLog } from "#base/log.ts";
import { commands, help } from "#operator";
import { version } from "#operator";

const run = async (args: readonly string[]): Promise<number> => {
  const [name, ...rest] = args;
  if (name === "--version" || name === "-v") {
    process.stdout.write(`gantry ${version}\n`);
    return 0;
  }
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(help(rest[0]));
    return name === undefined ? 1 : 0;
  }
  const command = commands[name];
  if (!command) throw new Fault("INVALID_ARGUMENT", `there is no command ${JSON.stringify(name)}; gantry --help lists them`);
  const { values, positionals } = parseArgs({
    args: rest,
    options: { ...command.options, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
    strict: true,
  });
  if (values.help) {
    process.stdout.write(help(name));
    return 0;
  }
  const log = jsonLog((line) => process.stderr.write(line));
  return command.run({ values, positionals, environment: process.env, log, out: process.stdout, err: process.stderr });
};

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (thrown) {
  const usage = thrown instanceof TypeError && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS");
  // Whoever runs a command owns the machine: our own fault is told with its cause.
  const cause = thrown instanceof Fault && thrown.code === "INTERNAL" ? (thrown.cause ?? thrown) : thrown;
  const told = cause instanceof Error ? (cause instanceof Fault || usage ? cause.message : cause.stack) : String(cause);
  process.stderr.write(`gantry: ${told}\n`);
  process.exitCode = 1;
}
