// CSV: its columns, RFC 4180, and cells that a spreadsheet would run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { messageByName } from "#contract/catalog.ts";
import { csvColumnsOf, csvHead, csvText } from "./csv.ts";
import { columnsByName } from "./columns.ts";

const messageOf = (name: string) => {
  const message = messageByName(name);
  assert.ok(message !== undefined, name);
  return message;
};

const cellsOf = (values: readonly string[]): string => {
  const { columns } = columnsByName(messageOf("chainguard.platform.iam.v2.Group"), ["name", "description"]);
  return csvText(
    columns,
    values.map((description) => ({ name: "a", description })),
  );
};

test("a CSV file has a column for each field, also of nested messages, with the name first and the uid last", () => {
  const names = csvHead(csvColumnsOf(messageOf("chainguard.platform.iam.v2.Identity")))
    .trim()
    .split(",");
  assert.deepEqual([names[0], names.at(-1), names.includes("claimMatch.issuer")], ["name", "uid", true]);
  const columns = csvColumnsOf(messageOf("gantry.findings.v1.Finding"));
  const finding = { tags: ["v1", "v2"], decision: { reason: "not, loaded" }, unjudged: [{ ecosystem: "npm" }, { ecosystem: "Go" }], uid: "u" };
  const [head, row] = [csvHead(columns), csvText(columns, [finding])];
  assert.match(head, /^repo,repoUid,tags,.*,unjudged\.ecosystem,.*,decision\.reason,.*,uid\r\n$/);
  assert.match(row, /^,,"v1,v2",.*,"npm,Go",.*,"not, loaded",.*,u\r\n$/);
});

test("a cell that a spreadsheet would run as a formula gets an apostrophe, and numbers stay numbers", () => {
  const cases: readonly (readonly [value: string, cell: string])[] = [
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t=1"],
    ["\r=1", `"'\r=1"`],
    ["\uff1d1", "'\uff1d1"],
    ['=HYPERLINK("http://a","b")', `"'=HYPERLINK(""http://a"",""b"")"`],
    ["-1", "-1"],
    ["-0.5", "-0.5"],
    ["a=1", "a=1"],
    ["two\nlines", '"two\nlines"'],
  ];
  for (const [value, cell] of cases) assert.equal(cellsOf([value]), `a,${cell}\r\n`);
});
