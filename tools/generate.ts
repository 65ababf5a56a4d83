// `npm run gen`: runs the generators after `buf generate`, in order.
//
//   node tools/generate.ts [FOLDER]   writes to FOLDER instead of the project

import { spawnSync } from "node:child_process";

for (const step of ["index", "facts", "texts", "commands", "client", "openapi"]) {
  const { status } = spawnSync(process.execPath, [`tools/${step}.ts`, ...process.argv.slice(2)], { stdio: "inherit" });
  if (status !== 0) throw new Error(`tools/${step}.ts ended with status ${status}`);
}
