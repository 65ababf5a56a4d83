// The command line of this process.

import { trustAuthorities } from "#application";
import { jsonLog } from "#base/log.ts";
import { ignoreClosedPipes } from "./closed-pipe.ts";
import { runToStatus } from "./run-to-status.ts";

const args = process.argv.slice(2);
const { env: environment, stdout: out, stderr: err } = process;
ignoreClosedPipes();
process.exitCode = await runToStatus(args, { environment, log: jsonLog((line) => err.write(line)), out, err, status: 0 }, () => {
  if (args[0] !== "serve") trustAuthorities(environment);
});
// Exits explicitly: Node would remove its signal handlers first, and an echo of Ctrl-C (stop-signal.ts) would then kill a server
// that has stopped cleanly. All output is already written, because pipes, files and terminals are synchronous.
if (args[0] === "serve") process.exit();
