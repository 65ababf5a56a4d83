// The list of mutants matches the project: no entry becomes stale unnoticed, and no row of docs/attacks.md loses its mutant.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rowsWithoutMutantMax } from "./budget.ts";
import { mutants } from "./entries/index.ts";
import { readAttackRows, rowsWithoutMutant, staleReason } from "./mutant.ts";

const root = join(import.meta.dirname, "../..");
const rows = readAttackRows(root);

test("the text that each mutant replaces occurs exactly once in its file", () => {
  const stale = mutants.flatMap((mutant) => {
    const why = staleReason(root, mutant);
    return why === undefined ? [] : [`attack ${mutant.attack}: ${why}: ${JSON.stringify(mutant.find)}`];
  });
  assert.deepEqual(stale, []);
});

test("a text that is missing or repeated, or a missing file, is stale", () => {
  const mutant = { attack: 1, file: "package.json", find: '"name": "gantry"', replace: "" };
  assert.equal(staleReason(root, mutant), undefined);
  assert.match(staleReason(root, { ...mutant, find: '"' }) ?? "", /occurs \d+ times/);
  assert.match(staleReason(root, { ...mutant, find: "nothing of the kind" }) ?? "", /occurs 0 times/);
  assert.match(staleReason(root, { ...mutant, file: "no-such-file.ts" }) ?? "", /not found/);
  assert.match(staleReason(root, { ...mutant, replace: mutant.find }) ?? "", /equals/);
});

test("each mutant belongs to a row of docs/attacks.md and to existing test files", () => {
  const testsByRow = new Map(rows.map(({ number, tests }) => [number, tests]));
  assert.ok(rows.length > 200);
  for (const { attack, tests = testsByRow.get(attack) ?? [] } of mutants) {
    assert.ok(testsByRow.has(attack), `docs/attacks.md has no row ${attack}`);
    assert.ok(tests.length > 0, `row ${attack} names no test file`);
    for (const path of tests) assert.ok(existsSync(join(root, path)), path);
  }
});

test("the number of rows without a mutant only falls", () => {
  const without = rowsWithoutMutant(rows, mutants);
  assert.ok(
    without.length <= rowsWithoutMutantMax,
    `${without.length} rows have no mutant, and ${rowsWithoutMutantMax} may (test/mutants/budget.ts): ${without.join(", ")}`,
  );
});
