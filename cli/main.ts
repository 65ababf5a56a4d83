// The command line of this process.

import { trustAuthorities } from "#application";
import { jsonLog } from "#base/log.ts";
import { runToStatus } from "./run-to-status.ts";

const args = process.argv.slice(2);
const { env: environment, stdout: out, stderr: err } = process;
process.exitCode = await runToStatus(args, { environment, log: jsonLog((line) => err.write(line)), out, err, status: 0 }, () => {
  if (args[0] !== "serve") trustAuthorities(environment);
});
