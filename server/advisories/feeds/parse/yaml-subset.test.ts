// Tests that the subset reader never disagrees with the full YAML parser.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DocumentError } from "../invalid.ts";
import { readYamlSubset } from "./yaml-subset.ts";
import { readYaml } from "./yaml.ts";
import { fc, runs } from "../../../../test/property.ts";

/** A meaningless last line is outside the subset. */
const readFull = async (text: string): Promise<unknown> => {
  try {
    return await readYaml(`${text.endsWith("\n") ? text : `${text}\n`}...\n`);
  } catch (thrown) {
    assert.ok(thrown instanceof DocumentError);
    return thrown;
  }
};

const agree = async (text: string): Promise<void> => {
  const subset = readYamlSubset(text);
  if (subset !== undefined) assert.deepEqual(subset, await readFull(text), JSON.stringify(text));
};

const pieces = fc.constantFrom(
  "a:",
  "b: 1",
  "c: text of words",
  "- x",
  "- a: 1",
  "-",
  "- - y",
  "- |",
  "note: |",
  "note: |-",
  "note: >",
  "e: ''",
  "f: 'it''s'",
  'g: "q"',
  "h: ~",
  "i: null",
  "# remark",
  "",
  " ",
  "d: a # b",
  "j: a: b",
  "k: [1]",
  "l: {a: 1}",
  "m: &x 1",
  "n: *x",
  "o: !t 1",
  "p: - x",
  "---",
  "...",
  "q:\tx",
  "r: http://x",
  "s: -1",
  "t: 2025-01-01T00:00:00Z",
  "some words",
  "? u",
  '"v": 1',
  "a: 2",
  "w: @x",
  "x: 'open",
  "y: yes",
  "z: 0x1f",
  "\u00a0: 1",
  "aa: b\u00a0",
  "bb: |+",
  "cc: |2",
  "__proto__: 1",
);
const line = fc.tuple(fc.constantFrom("", "  ", "    ", " ", "      "), pieces, fc.constantFrom("", "", " ", "\t")).map((parts) => parts.join(""));

test("the full YAML parser returns the same value for every text in the subset", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), fc.constantFrom("", "\n", "\n\n"), (lines, end) => agree(lines.join("\n") + end)),
    { numRuns: runs(8_000) },
  );
});

const data = join(import.meta.dirname, "../../../../../shared/data/advisories/wolfi");

test("the subset reader reads real advisory documents with the same result as the full YAML parser", {
  skip: !existsSync(data) && "shared/data is not here",
}, async () => {
  const names = readdirSync(data).filter((name) => name.endsWith(".yaml"));
  const texts = names.map((name) => readFileSync(join(data, name), "utf8"));
  assert.equal(texts.filter((text) => readYamlSubset(text) === undefined).length, 0);
  for (const text of texts.filter((_, index) => index % 10 === 0)) await agree(text);
});
