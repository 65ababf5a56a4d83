// A worker process of `gantry serve` (GANTRY_WORKERS), started only by that command.

import { readSettings, runWorker } from "#application";
import { jsonLog } from "#base/log.ts";
import { sampleLog } from "#base/sampled-log.ts";
import { ignoreClosedPipes } from "./closed-pipe.ts";
import { failureText } from "./run-to-status.ts";

const { env: environment, stderr: err } = process;
ignoreClosedPipes();
try {
  const settings = readSettings(environment);
  const { log, close } = sampleLog(
    jsonLog((line) => err.write(line)),
    settings.logLevel,
  );
  await runWorker({ settings, log, progress: (line) => err.write(`${line}\n`) });
  close();
  process.exit(0);
} catch (thrown) {
  process.send?.({ kind: "failed", reason: failureText(thrown) }, undefined, undefined, () => process.exit(1));
}
