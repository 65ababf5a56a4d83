// `npm run golden`: accepts what the files of test/golden and the tables of modules.json have become. Runs the tests that
// compare with them, with GANTRY_GOLDEN=accept, which tells them to write first.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

/** The tests that compare with golden files, besides those of the modules. */
export const goldenTests: readonly string[] = [...globSync("test/golden*.test.ts").sort(), "test/expressions.test.ts"];

if (process.argv[1] === import.meta.filename) {
  const { status } = spawnSync(process.execPath, ["test/run.ts", "test/modules.test.ts", "test/tables.test.ts", ...goldenTests], {
    stdio: "inherit",
    env: { ...process.env, GANTRY_GOLDEN: "accept" },
  });
  process.exitCode = status ?? 1;
}
