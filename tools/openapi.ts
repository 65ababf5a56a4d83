// Writes the OpenAPI documents that the server serves: contract/gen/openapi. Part of `npm run gen`, behind the texts.
//
//   node tools/openapi.ts [FOLDER]   into this folder instead of the project's own

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contractTexts } from "#contract/gen/texts.ts";
import { openApiDocuments } from "#contract/openapi/documents.ts";

const folder = join(process.argv[2] ?? ".", "contract/gen/openapi");
mkdirSync(folder, { recursive: true });
const documents = openApiDocuments({ comments: contractTexts, examples: {}, errorExamples: {} });
for (const [name, document] of documents) writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(document, undefined, 1)}\n`);
