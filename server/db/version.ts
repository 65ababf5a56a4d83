// The version of Gantry, from package.json: recorded with each migration and named in pg_stat_activity.

import { readFileSync } from "node:fs";

export const version: string = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
