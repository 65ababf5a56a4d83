import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import { fc, runs } from "../test/property.ts";
import { limits } from "./limits.ts";
import { compilePattern, matchingBudget } from "./pattern.ts";
import { patternCost } from "./pattern-cost.ts";

const matches = (pattern: string, text: string): boolean | undefined => compilePattern(pattern)?.(text, matchingBudget());

test("a pattern matches the whole text, with or without anchors", () => {
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

test("syntax that RE2 lacks is refused: look-arounds, back-references, unbalanced brackets", () => {
  for (const text of ["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?P<x>a)\\k<x>", "(", ")", "a)|(b", "[", "*", "a{1001}", "\\C"])
    assert.equal(compilePattern(text), undefined, text);
});

const repositories = Array.from({ length: 40 }, (_, index) => `service-${index}`).join("|");

const real: readonly (readonly [pattern: string, text: string])[] = [
  ["repo:acme/web:ref:refs/heads/main", "repo:acme/web:ref:refs/heads/main"],
  ["repo:acme/[^:]+:ref:refs/(?:heads|tags)/.*", `repo:acme/web:ref:refs/heads/${"feature/".repeat(20)}`],
  [`^repo:acme/(?:${repositories}):(?:ref:refs/heads/.+|pull_request|environment:[a-zA-Z0-9_-]{1,255})$`, "repo:acme/service-39:environment:production"],
  ["repository_owner:acme:repository_owner_id:\\d{1,12}:job_workflow_ref:acme/ci/\\.github/workflows/[a-z-]+\\.ya?ml@refs/tags/v\\d+\\.\\d+\\.\\d+", "x"],
  ["project_path:acme/(?:[\\w.-]+/){0,10}[\\w.-]+:ref_type:(?:branch|tag):ref:.*", "project_path:acme/a/b/c:ref_type:branch:ref:main"],
  ["system:serviceaccount:[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?:[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", `system:serviceaccount:default:${"a".repeat(253)}`],
  ["arn:aws:sts::\\d{12}:assumed-role/[\\w+=,.@-]{1,64}/[\\w+=,.@-]{2,64}", "arn:aws:sts::123456789012:assumed-role/build/i-0123456789"],
  ["https://oidc\\.eks\\.[a-z0-9-]+\\.amazonaws\\.com/id/[0-9A-F]{32}", "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"],
  ["https://login\\.microsoftonline\\.com/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/v2\\.0", "x"],
  ["(?i)[^@]+@(?:acme|example)\\.com", "Somebody@ACME.com"],
  ["[\\p{L}\\p{N}._-]{1,63}", "björn"],
  [`(?i:${"[a-z0-9._-]+|".repeat(30)}x)`, "ABC"],
  ["\\Qhttps://ci.example/(job)[1]\\E/.*", "https://ci.example/(job)[1]/2"],
];

test("realistic patterns are within every bound: CI jobs, service accounts, lists of repositories", () => {
  for (const [pattern, text] of real) {
    assert.ok(patternCost(pattern) <= limits.patternCostMax, `${pattern} costs ${patternCost(pattern)}`);
    assert.ok(compilePattern(pattern), pattern);
    if (text !== "x") assert.equal(matches(pattern, text), true, pattern);
  }
  const all = real.reduce((sum, [pattern]) => sum + patternCost(pattern), 0);
  assert.ok(all <= limits.identityPatternsCostMax, `all of these in one identity cost ${all}`);
});

const fill = (part: string): string => part.repeat(Math.floor(limits.patternLengthMax / part.length));
const hostile: Readonly<Record<string, string>> = {
  "repetitions one after another": fill("a{1000}"),
  "repetitions in repetitions": fill("((a{30}){30})"),
  "dots that are counted": fill(".{1000}"),
  "Unicode classes": fill("\\pL"),
  "Unicode classes in one class": `[${"\\pN".repeat(340)}]`,
  "Unicode classes in either case": `(?i)${"\\P{Lu}".repeat(140)}`,
  "wide ranges in either case": `(?i)${"[Ā-￿]".repeat(200)}`,
  "wide ranges by number in either case": `(?s-m)(?mi)${"[\\x{100}-\\x{ffff}]".repeat(50)}`,
  "a class of many letters": `[${Array.from({ length: 500 }, (_, index) => String.fromCharCode(0x100 + index * 3)).join("")}]`,
  "groups in groups": `${"(".repeat(500)}a${")".repeat(500)}`,
};

for (const [name, pattern] of Object.entries(hostile))
  test(`a pattern of ${name} is refused before it is compiled`, (t) => {
    const engine = t.mock.method(RE2JS, "compile");
    assert.ok(patternCost(pattern) > limits.patternCostMax);
    assert.equal(compilePattern(pattern), undefined);
    assert.equal(engine.mock.callCount(), 0);
  });

test("a pattern that is too long is refused, and a text that is too long matches nothing", () => {
  assert.ok(compilePattern("a".repeat(limits.patternLengthMax)));
  assert.equal(compilePattern("a".repeat(limits.patternLengthMax + 1)), undefined);
  assert.equal(matches(".*", "a".repeat(limits.matchedLengthMax)), true);
  assert.equal(matches(".*", "a".repeat(limits.matchedLengthMax + 1)), false);
});

test("no compiled program is larger than the estimated cost of its pattern", () => {
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom("a", ".", "\\d", "\\pL", "[a-z]", "[^b]", "[[:alpha:]_]", "\\b", "^", "$", "\\x{41}", "\\Qa*\\E", "[]a]", "é", "😀", "{", "a{,2}"),
      fc.tuple(tie("tree"), tie("tree")).map(([one, other]) => `${one}${other}`),
      fc.tuple(tie("tree"), tie("tree")).map(([one, other]) => `(?:${one}|${other})`),
      tie("tree").map((inner) => `(${inner})`),
      tie("tree").map((inner) => `(?i:${inner}|)`),
      fc
        .tuple(tie("tree"), fc.constantFrom("*", "+", "?", "*?", "{3}", "{2,}", "{0,7}", "{4,9}", "{0}", "{0,}", "{1,2}?"))
        .map(([inner, how]) => `(?:${inner})${how}`),
    ),
  }));
  let compiledOnes = 0;
  fc.assert(
    fc.property(tree, (pattern) => {
      const cost = patternCost(pattern);
      if (cost > 20_000) return;
      let size: number;
      try {
        size = RE2JS.compile(pattern).programSize();
      } catch {
        return;
      }
      compiledOnes++;
      assert.ok(size <= cost, `${pattern} has ${size} instructions and was said to cost ${cost}`);
    }),
    { numRuns: runs(2_000) },
  );
  assert.ok(compiledOnes > 1_000);
});

test("a request matches within its budget; beyond it nothing matches", () => {
  const pattern = compilePattern("(?:a?){400}a{400}");
  assert.ok(pattern);
  const budget = matchingBudget();
  const text = "a".repeat(300);
  let matched = 0;
  while (matched < 100 && pattern(text, budget)) matched++;
  assert.ok(matched < 3, `matched ${matched} times`);
  assert.equal(pattern("a".repeat(400), budget), false);
  assert.equal(compilePattern("a")?.("a", budget), false);
});

test("patterns that ruin a backtracking engine finish in time", () => {
  const text = `${"a".repeat(1_000)}!`;
  for (const pattern of ["(a+)+b", "(a|aa)*b", "(.*)*b", "(x+x+)+y", "(?:a?){100}a{100}", "(.*)(.*)(.*)(.*)b"]) {
    const before = process.cpuUsage().user;
    assert.equal(matches(pattern, text), false, pattern);
    // Exponential time would be years, quadratic time seconds; a slow machine stays far below.
    assert.ok(process.cpuUsage().user - before < 5_000_000, pattern);
  }
});

test("a pattern is compiled once, and the cache is bounded", () => {
  const first = compilePattern("first");
  assert.equal(compilePattern("first"), first);
  for (let n = 0; n < 2_000; n++) compilePattern(`n${n}`);
  assert.notEqual(compilePattern("first"), first);
  assert.equal(matches("first", "first"), true);
});
