// OpenAPI documents for the docs pages, by domain and version 1. "whole" duplicates them.

import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { OpenApiSource } from "#docs";
import { openApiFolder } from "./openapi.ts";

export const openApiSource = (): OpenApiSource => ({
  names: readdirSync(openApiFolder)
    .filter((file) => file.endsWith(".json") && file !== "whole.json")
    .map((file) => file.slice(0, -".json".length)),
  read: async (name) => JSON.parse(await readFile(join(openApiFolder, `${name}.json`), "utf8")),
});
