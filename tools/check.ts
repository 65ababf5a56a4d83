// `npm run check`: all checks that need no server.
//
//   npm run check                 all steps in order; exits with 1 if one fails
//   npm run check -- types lint   only these steps
//
// Each step is a command that can be run alone; it is printed first.

import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { goldenTests } from "./golden.ts";

interface Step {
  readonly command: readonly string[];
  /** The remedy, if the output does not state it. */
  readonly hint?: string;
}

const steps: Readonly<Record<string, Step>> = {
  gen: { command: ["node", "tools/current.ts"] },
  types: { command: ["tsc", "--noEmit", "-p", "."] },
  // Browser code is checked with browser types.
  "types-browser": { command: ["tsc", "--noEmit", "-p", "server/docs/browser"] },
  lint: { command: ["biome", "lint", "--error-on-warnings", "--max-diagnostics=200", "."], hint: "npx biome lint --write . mends what is safe to mend" },
  format: { command: ["biome", "format", "."], hint: "npx biome format --write . writes it as it must be" },
  proto: { command: ["buf", "lint"] },
  "proto-format": { command: ["buf", "format", "-d", "--exit-code", "contract/proto"], hint: "npx buf format -w contract/proto writes it as it must be" },
  "proto-breaking": { command: ["node", "tools/breaking.ts"] },
  "openapi-breaking": {
    command: ["node", "tools/openapi-breaking.ts"],
    hint: "what a document has promised stays; one that was wrong where the server was right goes into contract/openapi/corrections.json",
  },
  unused: { command: ["knip", "--no-progress"], hint: "an export that only its own file uses needs no export" },
  migrations: { command: ["node", "tools/freeze.ts", "--check"] },
  modules: { command: ["node", "--test", "test/modules.test.ts", "test/tables.test.ts", "test/tidy.test.ts"] },
  prose: { command: ["node", "--test", "test/prose/prose.test.ts"], hint: "npm run prose -- FOLDER lists the sentences that count" },
  expressions: {
    command: ["node", "--test", "test/expressions.test.ts"],
    hint: "a regular expression that may backtrack: withoutTrailing, indexOf and split do most of what they are for",
  },
  mutants: {
    command: ["node", "--test", "test/mutants/entries.test.ts"],
    hint: "a mutant names a text that has changed: give it the new one (test/mutants/entries), and run npm run mutants -- --only N",
  },
  schema: { command: ["node", "test/run.ts", "test/schema.test.ts"], hint: "docs/adding-a-resource.md says what a table must have" },
  // Without a file, the runner would run all tests.
  ...(goldenTests.length > 0 ? { golden: { command: ["node", "test/run.ts", ...goldenTests], hint: "if the change is meant: npm run golden" } } : {}),
};

// Uses this Node for all steps, and the project's programs first.
const environment = {
  ...process.env,
  PATH: [dirname(process.execPath), join("node_modules", ".bin"), process.env.PATH].join(delimiter),
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in steps));
if (unknown !== undefined) {
  console.error(`There is no step ${unknown}; there are: ${Object.keys(steps).join(", ")}`);
  process.exit(1);
}

const failed: string[] = [];
for (const [name, { command, hint }] of Object.entries(steps)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const [program = "", ...args] = command;
  console.log(`▸ ${name}: ${command.join(" ")}`);
  const started = performance.now();
  const { status, error } = spawnSync(program, args, { stdio: "inherit", env: environment });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status === 0) console.log(`  ${name} is in order (${seconds} s)\n`);
  else {
    failed.push(name);
    console.log(`  ${name} has failed (${seconds} s)${error ? `: ${error.message}` : ""}${hint ? `; ${hint}` : ""}\n`);
  }
}

if (failed.length > 0) {
  console.log(`Failed: ${failed.join(", ")}.  Again, these alone:  npm run check -- ${failed.join(" ")}`);
  process.exitCode = 1;
} else console.log("All is in order.");
