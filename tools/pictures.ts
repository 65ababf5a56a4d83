// `npm run pictures`: takes the pictures of the console in docs/images again, by running their test with GANTRY_GOLDEN=accept.

import { spawnSync } from "node:child_process";

const { status } = spawnSync(process.execPath, ["test/run.ts", "test/story/console-pictures.test.ts"], {
  stdio: "inherit",
  env: { ...process.env, GANTRY_GOLDEN: "accept" },
});
process.exitCode = status ?? 1;
