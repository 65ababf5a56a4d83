// The files of deploy/ that are given out. By what they are, and not all that lies there: whoever uses deploy/compose is told to put
// the secret key and passwords beside its files (attack 200).

import { cpSync, globSync } from "node:fs";
import { join } from "node:path";

const given = ["Dockerfile", "*/*.{yaml,json,service,conf}"];

/** Copies them from one folder `deploy` to another, which is made. */
export const copyDeployFiles = (from: string, to: string): void => {
  for (const path of globSync(given, { cwd: from })) cpSync(join(from, path), join(to, path));
};
