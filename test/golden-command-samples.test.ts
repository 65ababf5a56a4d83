// An example command of each operation, for the code samples of the OpenAPI documents. Compared with
// test/golden/command-samples.json; `npm run golden` accepts changes, `npm run gen` copies them into the documents.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listCommandNames } from "#contract/command-names.ts";
import { examplesOf } from "../cli/operations/command.ts";
import { shapeOf } from "../cli/operations/shape.ts";
import { runGantry } from "./command-line.ts";

const goldenPath = join(import.meta.dirname, "golden", "command-samples.json");

const names = listCommandNames();
const wordsOf = ({ domain, resource, verb }: (typeof names)[number]): string => [domain, resource, verb].filter((word) => word !== "").join(" ");
const samples = Object.fromEntries(
  names.map((name) => [name.method.name, (examplesOf(wordsOf(name), shapeOf(name.method))[0] ?? "").replaceAll("\n      ", "\n  ")]),
);

test("example commands equal test/golden/command-samples.json", () => {
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(goldenPath, `${JSON.stringify(samples, undefined, 1)}\n`);
  const golden: unknown = existsSync(goldenPath) ? JSON.parse(readFileSync(goldenPath, "utf8")) : {};
  assert.deepEqual(golden, samples, "The example commands have changed. If that is meant: npm run golden, then npm run gen");
});

test("an example command is one that the command line knows", async () => {
  const some = names.filter((_, index) => index % 10 === 0);
  assert.ok(some.length > 10);
  for (const name of some) {
    const { status, out } = await runGantry([...wordsOf(name).split(" "), "--help"]);
    assert.equal(status, 0, wordsOf(name));
    assert.ok(out.includes((samples[name.method.name] ?? "").split("\n")[0] ?? ""), `${wordsOf(name)}: ${samples[name.method.name]}`);
  }
});
