import assert from "node:assert/strict";
import { test } from "node:test";
import { compilePattern, patternLengthMax } from "./pattern.ts";

const matches = (pattern: string, text: string): boolean | undefined => compilePattern(pattern)?.(text);

test("a pattern matches the whole text, with or without anchors of its own", () => {
  assert.equal(matches("^\\d{4}$", "1234"), true);
  assert.equal(matches("\\d{4}", "1234"), true);
  assert.equal(matches("\\d{4}", "12345"), false);
  assert.equal(matches("^\\d{4}$", "1234\n"), false);
  assert.equal(matches("a|ab", "ab"), true);
  assert.equal(matches("a|b", "ab"), false);
  assert.equal(matches("(?m)^a$", "a\nb"), false);
  assert.equal(matches("(?i)abc", "ABC"), true);
  assert.equal(matches("", ""), true);
  assert.equal(matches("org/1234/project/.+$", "org/1234/project/x"), true);
});

test("what is no RE2 syntax is refused: look-arounds, back-references, loose brackets", () => {
  for (const text of ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?P<x>a)\\k<x>", "(", ")", "a)|(b", "[", "*", "a{1001}", "\\C"])
    assert.equal(compilePattern(text), undefined, text);
});

test("a pattern that is too long or too large is refused, and a text that is too long matches nothing", () => {
  assert.ok(compilePattern("a".repeat(patternLengthMax)));
  assert.equal(compilePattern("a".repeat(patternLengthMax + 1)), undefined);
  assert.equal(compilePattern("a{1000}".repeat(100)), undefined);
  assert.equal(matches(".*", "a".repeat(1_024)), true);
  assert.equal(matches(".*", "a".repeat(1_025)), false);
});

test("no pattern runs away: those that ruin a backtracking engine are answered", () => {
  const text = `${"a".repeat(1_000)}!`;
  for (const pattern of ["(a+)+b", "(a|aa)*b", "(.*)*b", "(x+x+)+y", "(?:a?){400}a{400}", "(.*)(.*)(.*)(.*)b"]) {
    const before = process.cpuUsage().user;
    assert.equal(matches(pattern, text), false, pattern);
    // Exponential would be years, quadratic seconds; a slow machine stays far below.
    assert.ok(process.cpuUsage().user - before < 5_000_000, pattern);
  }
});

test("a pattern is compiled once, and thousands of others do not stay", () => {
  const first = compilePattern("first");
  assert.equal(compilePattern("first"), first);
  for (let n = 0; n < 2_000; n++) compilePattern(`n${n}`);
  assert.notEqual(compilePattern("first"), first);
  assert.equal(matches("first", "first"), true);
});
