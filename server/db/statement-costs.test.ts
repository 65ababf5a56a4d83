// Classification of reads as cheap or wide by measured durations.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { openStatementCosts } from "./statement-costs.ts";

test("after a quick run the same statement with the same values counts as cheap for a while, for the same organization", () => {
  let nowMs = 0;
  const costs = openStatementCosts(() => nowMs);
  assert.equal(costs.isWide("a", "select", ["x"], true), true);
  costs.measured("a", "select", ["x"], limits.quickStatementMs);
  assert.equal(costs.isWide("a", "select", ["x"], true), false);
  for (const [organization, text, value] of [
    ["b", "select", "x"],
    ["a", "other", "x"],
    ["a", "select", "y"],
  ] as const)
    assert.equal(costs.isWide(organization, text, [value], true), true);
  nowMs += limits.statementCostLifetimeMs;
  assert.equal(costs.isWide("a", "select", ["x"], true), true);
});

test("after a slow run the caller's estimate applies", () => {
  const costs = openStatementCosts(() => 0);
  costs.measured("a", "select", [], limits.quickStatementMs + 1);
  assert.deepEqual([costs.isWide("a", "select", [], true), costs.isWide("a", "select", [], false)], [true, false]);
});

test("after a timeout a statement counts as wide for a while with any values, but only for that organization", () => {
  let nowMs = 0;
  const costs = openStatementCosts(() => nowMs);
  costs.measured("a", "select", ["x"], 0);
  costs.late("a", "select");
  assert.equal(costs.isWide("a", "select", ["y"], false), true);
  assert.equal(costs.isWide("a", "select", ["x"], true), true);
  assert.equal(costs.isWide("b", "select", ["y"], false), false);
  nowMs += limits.statementCostLifetimeMs;
  assert.equal(costs.isWide("a", "select", ["y"], false), false);
});

test("long lists of values are not remembered, and the memory is bounded", () => {
  const costs = openStatementCosts(() => 0);
  const many = Array.from({ length: limits.quickValuesMax + 1 }, String);
  costs.measured("a", "select", [many], 0);
  assert.equal(costs.isWide("a", "select", [many], true), true);
  for (let index = 0; index <= limits.statementsEachMax; index++) costs.late("a", `s${index}`);
  assert.deepEqual([costs.isWide("a", "s0", [], false), costs.isWide("a", `s${limits.statementsEachMax}`, [], false)], [false, true]);
  for (let index = 0; index < limits.statementOrganizationsMax; index++) costs.late(`o${index}`, "select");
  assert.equal(costs.isWide("a", `s${limits.statementsEachMax}`, [], false), false);
});
