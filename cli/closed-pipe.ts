// Output to a pipe whose reader has left (`gantry doctor | head -1`) is dropped. A command that only prints more then stops by itself
// (operations/session.ts, events.ts, audit-export.ts); one that works goes on and exits with its own status. A server that loses its
// log reader keeps serving.

import { exitStatus } from "./exit-status.ts";

/** EIO: the terminal was closed. */
const closed = new Set(["EPIPE", "EIO"]);

/** Ignores a closed standard output or standard error. Exits with an error if output cannot be written for another reason. */
export const ignoreClosedPipes = (): void => {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (closed.has(error.code ?? "")) return;
    process.stderr.write(`gantry: the output cannot be written: ${error.message}\n`);
    process.exit(exitStatus.failed);
  });
};
