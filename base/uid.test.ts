import assert from "node:assert/strict";
import { test } from "node:test";
import { ancestry, covers, depthOf, EVERYWHERE, isRoot, isUid, newChild, newRoot, parentOf, rootOf } from "./uid.ts";
import { fc } from "../test/property.ts";

const hex = (length: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length }).map((digits) => digits.join(""));

/** Few letters, so that paths are often equal, nested or siblings. */
const near = fc
  .tuple(fc.constantFrom("a", "b"), fc.array(fc.constantFrom("0", "1"), { maxLength: 4 }))
  .map(([root, path]) => [root.repeat(40), ...path.map((digit) => digit.repeat(16))].join("/"));
const uid = fc.oneof(
  near,
  fc.tuple(hex(40), fc.array(hex(16), { maxLength: 5 })).map(([root, path]) => [root, ...path].join("/")),
);

test("a uid covers exactly the uids below it and itself", () => {
  fc.assert(
    fc.property(near, near, (place, other) => {
      assert.equal(covers(place, other), ancestry(other).includes(place));
      assert.equal(covers(EVERYWHERE, other), true);
    }),
  );
});

test("covering is a partial order: reflexive, antisymmetric and transitive", () => {
  fc.assert(
    fc.property(near, near, near, (one, two, three) => {
      assert.ok(covers(one, one));
      if (covers(one, two) && covers(two, one)) assert.equal(one, two);
      if (covers(one, two) && covers(two, three)) assert.ok(covers(one, three));
      // Two uids that cover the same uid are on one path.
      if (covers(one, three) && covers(two, three)) assert.ok(covers(one, two) || covers(two, one));
    }),
  );
});

test("a uid with the same prefix but a different segment is not covered", () => {
  fc.assert(
    fc.property(uid, hex(1), (place, digit) => {
      assert.equal(covers(place, `${place}${digit}`), false);
      assert.equal(covers(`${place}/${"0".repeat(16)}`, place), false);
    }),
  );
});

test("the parent is one level up, and walking up ends at the root and then at EVERYWHERE", () => {
  fc.assert(
    fc.property(uid, (at) => {
      const line = ancestry(at);
      assert.equal(line[0], at);
      assert.equal(line.at(-1), rootOf(at));
      assert.equal(line.length, depthOf(at) + 1);
      assert.equal(parentOf(rootOf(at)), EVERYWHERE);
      for (const [index, each] of line.entries()) assert.equal(parentOf(each), line[index + 1] ?? EVERYWHERE);
      assert.equal(isRoot(at), at === rootOf(at));
    }),
  );
});

test("a new child is directly below its parent, and new uids are unique", () => {
  fc.assert(
    fc.property(uid, (parent) => {
      const child = newChild(parent);
      assert.ok(isUid(child));
      assert.equal(parentOf(child), parent);
      assert.ok(covers(parent, child));
      assert.notEqual(newChild(parent), child);
    }),
  );
  assert.ok(isUid(newRoot()) && isRoot(newRoot()));
  assert.equal(new Set(Array.from({ length: 1_000 }, newRoot)).size, 1_000);
});

test("a uid is 40 hex digits and any number of slashes with 16 more, and no other text is one", () => {
  fc.assert(fc.property(uid, (text) => assert.ok(isUid(text))));
  fc.assert(
    fc.property(uid, fc.nat(), fc.constantFrom("", "g", "A", "/", " ", "\n", "é", "\0", "."), (text, at, instead) => {
      const place = at % text.length;
      const changed = text.slice(0, place) + instead + text.slice(place + 1);
      if (changed !== text) assert.equal(isUid(changed), false, JSON.stringify(changed));
    }),
  );
  const root = "0".repeat(40);
  for (const text of [
    "",
    "/",
    root.slice(1),
    `${root}/`,
    `/${root}`,
    `${root}//${"0".repeat(16)}`,
    `${root}\n`,
    ` ${root}`,
    root.toUpperCase().replaceAll("0", "A"),
    `${root}0`,
  ]) {
    assert.equal(isUid(text), false, JSON.stringify(text));
  }
});
