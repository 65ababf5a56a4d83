// What is generated behind `buf generate`, in its order: `npm run gen`.
//
//   node tools/generate.ts [FOLDER]   into this folder instead of the project's own

import { spawnSync } from "node:child_process";

for (const step of ["index", "facts", "texts", "commands", "openapi", "client"]) {
  const { status } = spawnSync(process.execPath, [`tools/${step}.ts`, ...process.argv.slice(2)], { stdio: "inherit" });
  if (status !== 0) throw new Error(`tools/${step}.ts ended with status ${status}`);
}
