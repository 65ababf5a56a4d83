import assert from "node:assert/strict";
import { test } from "node:test";
import { operatorUid } from "#base/operator.ts";
import { limits } from "#base/limits.ts";
import { entryPath } from "./seal.ts";

const one = "1".repeat(40);
const other = "2".repeat(40);
const group = `${one}/${"a".repeat(16)}`;
const repo = `${group}/${"b".repeat(16)}`;
const deep = one + `/${"c".repeat(16)}`.repeat(118);

const cases: readonly (readonly [title: string, subject: string, group: string, path: string])[] = [
  ["a change of what is in a group belongs to that group", repo, group, group],
  ["a change of what is in a group belongs there, also where its event goes to the organization", repo, one, group],
  ["what goes to no group belongs beside its subject", repo, "", group],
  ["an organization belongs to itself", one, one, one],
  ["an organization whose event goes to no group belongs to itself", one, "", one],
  ["a new organization, whose event goes above all roots, belongs to itself", one, "/", one],
  ["a refused call belongs to the path that it named", repo, repo, repo],
  ["a person who signs in to an organization belongs there", other, one, one],
  ["a person who signs in to a group belongs there", other, group, group],
  ["a person whose event goes to no group belongs to their own uid", other, "", other],
  ["an identity that is of another organization than the group belongs to the group", `${other}/${"d".repeat(16)}`, group, group],
  ["an organization with the same beginning is another one", `${one}1`, one, one],
  ["what is no uid belongs to the group", "https://issuer.example.com", group, group],
  ["what is no uid and lies below a group by its letters belongs to the group", `${one}/x`, one, one],
  ["what is no uid and goes to no group is the operator's", "https://issuer.example.com", "", operatorUid],
  ["what is about nothing is the operator's", "", "", operatorUid],
  ["a group that is no uid counts as none", repo, "nowhere", group],
];

for (const [title, subject, receiver, path] of cases) test(`location of an entry: ${title}`, () => assert.equal(entryPath(subject, receiver), path));

test("location of an entry: a very deep path is cut to the last level that fits the index", () => {
  assert.ok(deep.length <= limits.uidLengthMax);
  const path = entryPath(deep, deep);
  assert.equal(path, deep.slice(0, limits.auditPathLengthMax));
  assert.match(path, /^[0-9a-f]{40}(?:\/[0-9a-f]{16})+$/);
  assert.equal(entryPath(`${deep}/${"d".repeat(16)}`, one), one);
  // Limit of a B-tree entry in PostgreSQL's manual, minus its overhead.
  assert.ok(40 + limits.uidLengthMax + path.length + 17 <= 2704 - 40);
});
