// The files of deploy/ to publish. A list of patterns, because users of deploy/compose put the secret key and passwords there
// (attack 200).

import { cpSync, globSync } from "node:fs";
import { join } from "node:path";

const given = ["Dockerfile", "*/*.{yaml,json,service,conf}", "helm/gantry/**/*.{yaml,json,tpl}"];

export const copyDeployFiles = (from: string, to: string): void => {
  for (const path of globSync(given, { cwd: from })) cpSync(join(from, path), join(to, path));
};
