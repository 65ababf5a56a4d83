// Tests names of CSAF files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { distinctNumberOf, fileNameOfTracking, textOfFileName } from "./names.ts";

test("a file name follows from the tracking ID by CSAF 2.0, 5.1", () => {
  for (const [id, name] of [
    ["Example Company - 2019-YH3234", "example_company_-_2019-yh3234"],
    ["RHBA-2019:0024", "rhba-2019_0024"],
    ["2022_#01-A", "2022_01-a"],
    ["gtk+3.0", "gtk+3_0"],
    ["../../etc/passwd", "_etc_passwd"],
    ["a\nb", "a_b"],
  ] as const)
    assert.equal(fileNameOfTracking(id), name, id);
});

const indexedByStore = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[^-+a-z0-9]+/g, "_");

const packages = [
  "curl",
  "gtk+3.0",
  "python-3.12",
  "a.b",
  "a_b",
  "A.b",
  "a-b",
  "a..b",
  "a.b.",
  ".a.b",
  "_",
  "",
  "a b",
  "ä",
  "a.b.0123456789abcdef",
  "a.b_0123456789abcdef",
  "0123456789abcdef",
  "a/b",
  "@scope/a",
  "\u212a",
  "k",
]; // prettier-ignore

test("our own IDs have distinct file names that map back to the package", () => {
  const names = new Map<string, string>();
  // Names that resemble a digest form must differ as well.
  for (const each of [...packages, ...packages.map((each) => fileNameOfTracking(distinctNumberOf(each)).replaceAll("_", "."))]) {
    const name = fileNameOfTracking(distinctNumberOf(each));
    assert.match(name, /^[-+a-z0-9_]+$/);
    assert.doesNotMatch(name, /__/);
    assert.equal(names.get(name) ?? each, each, `${each} and ${names.get(name)} are both ${name}`);
    names.set(name, each);
    const named = textOfFileName(name);
    assert(named);
    if ("text" in named) assert.equal(named.text, each);
    else assert(named.is(each) && named.fileNames.includes(indexedByStore(each)), `${each} is not found by ${name}`);
  }
  assert.equal(distinctNumberOf("gtk+3.0"), "gtk+3.0");
});

test("a file name that belongs to no package finds none", () => {
  for (const name of ["A", "a.b", "a/b", "", "a__b", "_a", "a_", "%2e%2e", "ä"]) assert.equal(textOfFileName(name), undefined, name);
});
