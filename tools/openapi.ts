// Generates the OpenAPI documents (contract/gen/openapi). Part of `npm run gen`, after the texts.
//
//   node tools/openapi.ts [FOLDER]   writes to FOLDER instead of the project

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "#base/json.ts";
import { contractTexts } from "#contract/gen/texts.ts";
import { openApiDocuments } from "#contract/openapi/documents.ts";

const readObject = (path: string): Record<string, JsonObject> => JSON.parse(readFileSync(path, "utf8"));

// All are recorded; test/golden-openapi.test.ts and test/golden.test.ts keep them current.
const examples = readObject("test/golden/openapi-examples.json");
const earlierExamples = readObject("test/golden/openapi-examples-version-1.json");
const errors = readObject("test/golden/errors.json");
const earlierErrors = readObject("test/golden/errors-version-1.json");

const samples = {
  commands: JSON.parse(readFileSync("test/golden/command-samples.json", "utf8")) as Record<string, string>,
  client: JSON.parse(readFileSync(join(process.argv[2] ?? ".", "contract/gen/client-samples.json"), "utf8")) as Record<string, string>,
};

const folder = join(process.argv[2] ?? ".", "contract/gen/openapi");
mkdirSync(folder, { recursive: true });
for (const [name, document] of openApiDocuments({ comments: contractTexts, examples, earlierExamples, errors, earlierErrors, samples })) {
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(document, undefined, 1)}\n`);
}
