// Tests that refused JSON is reported with its line, however hostile.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../../test/property.ts";
import type { Json } from "#base/json.ts";
import { DocumentError } from "../invalid.ts";
import { jsonLineOf, readJson } from "./json.ts";

type Path = readonly (string | number)[];

const printed = (value: Json, blank: () => string): { text: string; lines: [Path, number][] } => {
  let text = "";
  const lines: [Path, number][] = [];
  const line = (): number => text.split("\n").length;
  const write = (each: Json, path: Path): void => {
    text += blank();
    lines.push([path, line()]);
    if (Array.isArray(each)) {
      text += "[";
      each.forEach((entry, index) => {
        if (index > 0) text += ",";
        write(entry, [...path, index]);
        text += blank();
      });
      text += `${blank()}]`;
    } else if (typeof each === "object" && each !== null) {
      text += "{";
      Object.entries(each).forEach(([key, entry], index) => {
        text += `${index > 0 ? "," : ""}${blank()}${JSON.stringify(key)}${blank()}:`;
        write(entry, [...path, key]);
        text += blank();
      });
      text += `${blank()}}`;
    } else text += JSON.stringify(each);
  };
  write(value, []);
  return { text: text + blank(), lines };
};

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string(), fc.constantFrom('"', "\\", '\\"', "{", "}", "[", ",", ":", "\n", "é😀"), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    // Not "\\" next to '"': V8 13.6 confuses the two keys after objects of the same shape.
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('"', "a:b", "{", "\n")), tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ) as fc.Arbitrary<Json>,
}));

test("every value is found on the line where it starts, in any layout", async () => {
  await fc.assert(
    fc.asyncProperty(value, fc.array(fc.constantFrom("", "", " ", "\n", "\r\n", "\t", "\n\n  "), { minLength: 1 }), async (json, blanks) => {
      let next = 0;
      const { text, lines } = printed(json, () => blanks[next++ % blanks.length] ?? "");
      assert.deepEqual(await readJson(text), json);
      for (const [path, line] of lines) assert.equal(await jsonLineOf(text, path), line, `${JSON.stringify(path)} in ${text}`);
    }),
  );
});

test("a path that does not exist gets the line of the nearest enclosing value", async () => {
  const text = '{\n  "a": [\n    1,\n    {"b": 2}\n  ]\n}';
  assert.equal(await jsonLineOf(text, ["nothing"]), 1);
  assert.equal(await jsonLineOf(text, ["a", 7]), 2);
  assert.equal(await jsonLineOf(text, ["a", 1, "c"]), 4);
  assert.equal(await jsonLineOf(text, ["a", 1, "b", "deeper"]), 4);
  assert.equal(await jsonLineOf(text, []), 1);
});

test("for a duplicate key, the last value counts, as in the parsed document", async () => {
  assert.equal(await jsonLineOf('{\n"a": {"b": 1},\n"a": {\n"b": 2}\n}', ["a", "b"]), 4);
});

const refusedLine = async (text: string): Promise<number> => {
  try {
    await readJson(text);
  } catch (thrown) {
    assert.ok(thrown instanceof DocumentError, String(thrown));
    assert.doesNotMatch(thrown.message, /[\u0000-\u001f]/);
    return thrown.line;
  }
  throw new Error("it was read");
};

const mistakes: readonly (readonly [string, string, number])[] = [
  ["nothing at all", "", 1],
  ["blanks alone", " \n \n", 1],
  ["an end within a list", "[\n 1,\n 2\n\n", 3],
  ["an end within a text", '{"a":\n "bc', 2],
  ["a comma before the end", '{"a": 1,\n}', 2],
  ["a missing comma", '["a"\n\n"b"]', 3],
  ["a bracket of the other kind", '{"a": [\n1}\n]', 2],
  ["a name of no value", "[1,\ntru]", 2],
  ["a number with a zero in front", "[1,\n01]", 2],
  ["a number that ends with its point", "[1,\n1.]", 2],
  ["a line end within a text", '[1,\n"a\nb"]', 2],
  ["an escape that is none", '[1,\n"\\x"]', 2],
  ["a comment", "[1,\n// two\n2]", 2],
  ["a comment behind the end", "[1]\n/* end */", 2],
  ["a no-break space at the end", "[1]\n\u00a0", 2],
  ["a second document", "{}\n{}", 2],
];

for (const [title, text, line] of mistakes)
  test(`${title} is refused on its line`, async () => {
    assert.equal(await refusedLine(text), line);
  });

// Quadratic time or recursion would take minutes or exhaust the stack.
const endless: readonly (readonly [string, string, number])[] = [
  ["a text without an end", `{\n"a": "${"x".repeat(4_000_000)}`, 2],
  ["a text of escapes without an end", `{\n"a": "${"\\n".repeat(2_000_000)}`, 2],
  ["a text of lines without an end", `["${'\n"'.repeat(2_000_000)}`, 1],
  ["brackets without an end", "[\n".repeat(2_000_000), 101],
  ["braces and brackets that never fit", `[${"[}]{".repeat(1_000_000)}`, 1],
  ["lists without an end, each 100 deep", `${"[".repeat(99)}${"[],\n".repeat(1_000_000)}`, 1_000_000],
  ["commas without an end", `[\n${",".repeat(4_000_000)}`, 2],
  ["words without an end", "x ".repeat(2_000_000), 1],
  ["comments that begin without an end", "/*".repeat(4_000_000), 1],
  ["blanks with a mistake behind them", `[${" \n".repeat(2_000_000)}x]`, 2_000_001],
];

for (const [title, text, line] of endless)
  test(`${title}: refused on its line, in time linear in the text`, async () => {
    const started = process.cpuUsage();
    assert.equal(await refusedLine(text), line);
    assert.ok(process.cpuUsage(started).user < 10_000_000);
  });

test("the last of many values is found in time linear in the text", async () => {
  const entries = 200_000;
  const text = JSON.stringify({ first: Array.from({ length: entries }, (_, index) => ({ id: `X-${index}`, deep: [[{ a: index }]] })), last: [1, 2] }, null, 1);
  const lines = text.split("\n");
  const started = process.cpuUsage();
  for (const [path, line] of [
    [["last", 1], lines.length - 2],
    [["first", entries - 1, "deep", 0, 0, "a"], lines.findLastIndex((each) => each.includes('"a"')) + 1],
  ] as const)
    assert.equal(await jsonLineOf(text, path), line);
  // Wall time depends on other processes.
  assert.ok(process.cpuUsage(started).user < 10_000_000);
});
