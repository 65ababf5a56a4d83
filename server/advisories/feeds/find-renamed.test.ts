// Tests detection of renamed records.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type AppearedRecord, findRenamed } from "./find-renamed.ts";

const record = (id: string, artifact: string, ...aliases: readonly string[]): AppearedRecord => ({ id, artifact, aliases });

const renamed = (dropped: readonly AppearedRecord[], appeared: readonly AppearedRecord[], isOneDocument = false): string =>
  findRenamed({ dropped: dropped.map((each) => ({ key: each.id, ...each })), appeared, isOneDocument })
    .map(({ oldId, newId }) => `${oldId} ${newId}`)
    .join(", ");

const cases: readonly (readonly [string, string, string])[] = [
  ["an alias", renamed([record("OLD", "npm/a")], [record("NEW", "npm/b", "OLD")]), "OLD NEW"],
  ["the alias of the old one", renamed([record("OLD", "npm/a", "NEW")], [record("NEW", "npm/a")]), "OLD NEW"],
  ["a shared alias and package", renamed([record("OLD", "npm/a", "CVE-1")], [record("NEW", "npm/a", "CVE-1")]), "OLD NEW"],
  ["a shared alias of another package", renamed([record("OLD", "npm/a", "CVE-1")], [record("NEW", "npm/b", "CVE-1")]), ""],
  ["the same package alone", renamed([record("OLD", "npm/a")], [record("NEW", "npm/a")]), ""],
  ["the same package, alone in its place", renamed([record("OLD", "npm/a")], [record("NEW", "npm/a")], true), "OLD NEW"],
  ["another package, alone in its place", renamed([record("OLD", "npm/a")], [record("NEW", "npm/b")], true), ""],
  ["alone in its place, with other aliases", renamed([record("OLD", "npm/a", "CVE-1")], [record("NEW", "npm/a", "CVE-2")], true), ""],
  ["two candidates", renamed([record("OLD", "npm/a", "CVE-1")], [record("ONE", "npm/a", "CVE-1"), record("TWO", "npm/a", "CVE-1")]), ""],
  [
    "two candidates of which one names it",
    renamed([record("OLD", "npm/a", "CVE-1")], [record("ONE", "npm/a", "CVE-1"), record("TWO", "npm/a", "OLD")]),
    "OLD TWO",
  ],
  ["two that become one", renamed([record("A", "npm/a", "CVE-1"), record("B", "npm/a", "CVE-2")], [record("C", "npm/a", "CVE-1", "CVE-2")]), "A C, B C"],
  ["one of several packages", renamed([record("OLD", "npm/a", "CVE-1"), record("OLD", "npm/b", "CVE-1")], [record("NEW", "npm/b", "CVE-1")]), "OLD NEW"],
];

test("a record counts as renamed only if the new one names it, or has the same package and no contradicting alias", () => {
  for (const [what, found, expected] of cases) assert.equal(found, expected, what);
});
