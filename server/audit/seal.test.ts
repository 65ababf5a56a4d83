import assert from "node:assert/strict";
import { test } from "node:test";
import { operatorUid } from "#authz";
import { limits } from "#base/limits.ts";
import { entryPath } from "./seal.ts";

const one = "1".repeat(40);
const other = "2".repeat(40);
const group = `${one}/${"a".repeat(16)}`;
const repo = `${group}/${"b".repeat(16)}`;
const deep = one + `/${"c".repeat(16)}`.repeat(118);

const places: readonly (readonly [title: string, subject: string, group: string, place: string])[] = [
  ["a change of what is in a group is told in that group", repo, group, group],
  ["a change of what is in a group is told there, also where the whole organization hears of it", repo, one, group],
  ["what is told to no group is told beside its subject", repo, "", group],
  ["an organization is told at itself", one, one, one],
  ["an organization that no group hears of is told at itself", one, "", one],
  ["a new organization, which is heard above all, is told at itself", one, "/", one],
  ["a refused call is told at the place that it named", repo, repo, repo],
  ["a person who comes into an organization is told there", other, one, one],
  ["a person who comes into a group is told there", other, group, group],
  ["a person whom no group hears of is told at their own", other, "", other],
  ["an identity that is of another organization than the group is told in the group", `${other}/${"d".repeat(16)}`, group, group],
  ["an organization with the same beginning is another one", `${one}1`, one, one],
  ["what is no uid is told to the group", "https://issuer.example.com", group, group],
  ["what is no uid and lies below a group by its letters is told to the group", `${one}/x`, one, one],
  ["what is no uid and is told to no group is the operator's", "https://issuer.example.com", "", operatorUid],
  ["what is about nothing is the operator's", "", "", operatorUid],
  ["a group that is no uid counts as none", repo, "nowhere", group],
];

for (const [title, subject, told, place] of places) test(`where an entry belongs: ${title}`, () => assert.equal(entryPath(subject, told), place));

test("where an entry belongs: very deep down at the last level that an index has room for", () => {
  assert.ok(deep.length <= limits.uidLengthMax);
  const place = entryPath(deep, deep);
  assert.equal(place, deep.slice(0, limits.auditPlaceLengthMax));
  assert.match(place, /^[0-9a-f]{40}(?:\/[0-9a-f]{16})+$/);
  assert.equal(entryPath(`${deep}/${"d".repeat(16)}`, one), one);
  // What PostgreSQL's manual allows one entry of a B-tree, less what the entry itself takes.
  assert.ok(40 + limits.uidLengthMax + place.length + 17 <= 2704 - 40);
});
