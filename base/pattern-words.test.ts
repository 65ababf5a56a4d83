import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isObject, type Json } from "./json.ts";
import { patternWords } from "./pattern-words.ts";

test("a pattern is said with its number of characters, their kinds and the kinds at the start", () => {
  assert.equal(patternWords("^[a-z0-9-]{1,63}$"), "1 to 63 lowercase letters, digits and hyphens");
  assert.equal(patternWords("^[a-z0-9 ._-]{1,}$"), "1 or more lowercase letters, digits, spaces, periods, underscores and hyphens");
  assert.equal(
    patternWords("^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"),
    "1 to 128 letters, digits, periods, underscores and hyphens; the first is a letter, a digit or an underscore",
  );
  assert.equal(patternWords("^sha256:[0-9a-f]{64}$"), "`sha256:` and 64 lowercase hexadecimal digits");
  assert.equal(patternWords("^(application|base)$"), "`application` or `base`");
  assert.equal(patternWords("^(?:uid|create_time|createTime)(?: (?:asc|desc))?$"), "`uid` or `create_time`; then optionally `asc` or `desc` after a space");
  assert.equal(patternWords("(a|b)+c"), undefined);
});

const folder = join(import.meta.dirname, "../contract/gen/openapi");

const patternsIn = (value: Json): string[] => {
  if (Array.isArray(value)) return value.flatMap(patternsIn);
  if (!isObject(value)) return [];
  // An example may have a field of this name.
  const entries = Object.entries(value).filter(([key]) => key !== "example" && key !== "examples");
  return [...(typeof value.pattern === "string" ? [value.pattern] : []), ...entries.flatMap(([, each]) => patternsIn(each))];
};

test("every pattern of the OpenAPI documents has words, and they contain no expression", () => {
  const documents = readdirSync(folder).map((name): Json => JSON.parse(readFileSync(join(folder, name), "utf8")));
  const patterns = new Set(documents.flatMap(patternsIn));
  assert.ok(patterns.size > 40, `${patterns.size} patterns`);
  for (const pattern of patterns) {
    const words = patternWords(pattern);
    assert.ok(words !== undefined, `base/pattern-words.ts has no words for ${pattern}`);
    assert.doesNotMatch(words, /[\^$*?[\]{}]|\(\?/, pattern);
  }
});
