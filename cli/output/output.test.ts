// Terminal escaping, tables and YAML.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, runs } from "../../test/property.ts";
import type { Json } from "#base/json.ts";
import { isUnprintable, onItsLines, onOneLine, printableJson } from "./escape.ts";
import { relativeTime } from "./relative-time.ts";
import { tableText } from "./table.ts";
import { treeText } from "./tree.ts";
import { parseStructured, yamlText } from "./yaml.ts";

test("text for a terminal contains no control sequences, and plain text stays unchanged", () => {
  const cases: readonly (readonly [text: string, shown: string])[] = [
    ["plain – ünï 漢字", "plain – ünï 漢字"],
    ["\u001b[2J\u001b]52;c;aGk=\u0007", "\\u001b[2J\\u001b]52;c;aGk=\\u0007"],
    ["\u009b31m", "\\u009b31m"],
    ["a\rb\nc\td\u007f", "a\\rb\\nc\\td\\u007f"],
    ["\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"],
    ["\u{e0001}", "\\udb40\\udc01"],
    ["\ud800", "\ufffd"],
    // Fillers, the empty Braille pattern, and variation selectors without effect: blank, but not control characters.
    ["\u115f\u1160\u3164\uffa0\u2800\u034f\u180b", "\\u115f\\u1160\\u3164\\uffa0\\u2800\\u034f\\u180b"],
    ["a\ufe06\ufe04\u{e0100}", "a\\ufe06\\ufe04\\udb40\\udd00"],
    ["می\u200cخواهم 👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3", "می\u200cخواهم 👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3"],
  ];
  for (const [text, shown] of cases) assert.equal(onOneLine(text), shown);
  assert.equal(onItsLines("one\r\ntwo\u0000"), "one\ntwo\\u0000");
});

test("any text becomes printable, and its JSON keeps its meaning", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.ok(!isUnprintable(onOneLine(text)));
      const json = printableJson(JSON.stringify({ [text]: text }, undefined, 2));
      assert.ok(!isUnprintable(json.replaceAll("\n", "")));
      assert.deepEqual(JSON.parse(json), { [text]: text });
    }),
    { numRuns: runs(30) },
  );
});

test("YAML parses back to the same JSON, without control sequences and safe for YAML 1.1 parsers", () => {
  const values: readonly Json[] = [
    { name: "yes", time: "2026-11-23T08:00:00.000Z", number: "0o17", empty: "", nothing: {}, list: [] },
    { blank: "\u3164", "\u2800": "a\ufe06", picture: "👩\u200d💻 ❤\ufe0f" },
    { text: "two\nlines\n", escape: "\u001b[31m", c1: "\u009b", bidi: "\u202e" },
    ["a", { b: [1, true, null] }],
    "\u0007",
  ];
  for (const value of values) {
    const yaml = yamlText(value);
    assert.ok(!isUnprintable(yaml.replaceAll("\n", "")), yaml);
    assert.deepEqual(parseStructured(yaml), { value, problem: undefined });
  }
  assert.match(yamlText({ name: "yes", time: "2026-11-23T08:00:00.000Z" }), /^name: "yes"\ntime: "2026-11-23T08:00:00\.000Z"\n$/);
});

test("a document with aliases, repeated keys or keys that are not text is refused", () => {
  for (const content of ["a: &x [1]\nb: *x\n", "a: 1\na: 2\n", "1: x\n", "{", "a: b: c"]) assert.notEqual(parseStructured(content).problem, undefined, content);
});

test("a table is aligned by display width and cut except for one protected column", () => {
  const plain = { columns: undefined, whole: 1, heading: (line: string) => line };
  assert.equal(
    tableText(
      [
        ["NAME", "UID"],
        ["漢字", "1"],
        ["abcde", "2"],
        ["e\u0301", "3"],
      ],
      plain,
    ),
    "NAME   UID\n漢字   1\nabcde  2\ne\u0301      3\n",
  );
  assert.equal(
    tableText(
      [
        ["NAME", "UID"],
        ["a".repeat(40), "0123456789"],
      ],
      { ...plain, columns: 30 },
    ),
    `${"NAME".padEnd(18)}  UID\n${"a".repeat(17)}…  0123456789\n`,
  );
  const rows = [
    ["NAME", "DESCRIPTION"],
    ["acme/team/application", "b".repeat(40)],
  ];
  assert.equal(tableText(rows, { ...plain, columns: 35, whole: 0 }), `${"NAME".padEnd(21)}  DESCRIPTION\nacme/team/application  ${"b".repeat(11)}…\n`);
});

test("a time is shown in its largest unit, in the past and in the future", () => {
  const nowMs = Date.parse("2026-11-23T08:00:00Z");
  const at = (seconds: number): string => relativeTime(new Date(nowMs + seconds * 1000).toISOString(), nowMs);
  const shown = [0, -0.9, -1, -59, -60, -3_599, -3_600, -86_399, -86_400, -364 * 86_400, -365 * 86_400, 90, 2 * 86_400].map(at);
  assert.deepEqual(shown, ["now", "now", "1s ago", "59s ago", "1m ago", "59m ago", "1h ago", "23h ago", "1d ago", "364d ago", "1y ago", "in 1m", "in 2d"]);
  assert.equal(relativeTime("never", nowMs), "never");
});

test("a tree places each resource below its nearest listed ancestor", () => {
  const root = "a".repeat(40);
  const [child, grandchild] = [`${root}/${"b".repeat(16)}`, `${root}/${"c".repeat(16)}/${"d".repeat(16)}`];
  assert.equal(
    treeText([
      { uid: root, name: "one" },
      { uid: child, name: "two" },
      { uid: grandchild, name: "three\u001b" },
    ]),
    `one  ${root}\n├── two  ${child}\n└── three\\u001b  ${grandchild}\n`,
  );
});
