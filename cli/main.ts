// The command line of this process.

import { trustAuthorities } from "#application";
import { jsonLog } from "#base/log.ts";
import { runToStatus } from "./run-to-status.ts";

const args = process.argv.slice(2);
const { env: environment, stdout: out, stderr: err } = process;
process.exitCode = await runToStatus(args, { environment, log: jsonLog((line) => err.write(line)), out, err, status: 0 }, () => {
  if (args[0] !== "serve") trustAuthorities(environment);
});
// Not left to Node, which gives up its signal handlers first: an echo of Ctrl-C (stop-signal.ts) that comes then would kill a server that has
// stopped in order. What was written is out: pipes, files and terminals are written at once.
if (args[0] === "serve") process.exit();
