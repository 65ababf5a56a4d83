// `npm run golden`: updates test/golden and the tables of modules.json, by running their tests with GANTRY_GOLDEN=accept.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

/** Tests that compare with golden files, except those of modules. */
export const goldenTests: readonly string[] = [...globSync("test/golden*.test.ts").sort(), "test/expressions.test.ts"];

if (process.argv[1] === import.meta.filename) {
  const { status } = spawnSync(process.execPath, ["test/run.ts", "test/modules.test.ts", "test/tables.test.ts", ...goldenTests], {
    stdio: "inherit",
    env: { ...process.env, GANTRY_GOLDEN: "accept" },
  });
  process.exitCode = status ?? 1;
}
