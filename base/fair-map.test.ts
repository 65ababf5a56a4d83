import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../test/property.ts";
import { fairMap } from "./fair-map.ts";

const operations = fc.array(
  fc.record({ key: fc.constantFrom(..."abcdefghijkl"), owner: fc.constantFrom("x", "y", "z"), isDeletion: fc.nat(5).map((number) => number === 0) }),
  { maxLength: 60 },
);

test("beyond the maximum, the owner with the most entries loses its oldest one", () => {
  fc.assert(
    fc.property(operations, fc.integer({ min: 1, max: 8 }), (given, max) => {
      const map = fairMap<number>(max);
      let expected: { readonly key: string; readonly owner: string; readonly value: number }[] = [];
      for (const [value, { key, owner, isDeletion }] of given.entries()) {
        expected = expected.filter((each) => each.key !== key);
        if (isDeletion) map.delete(key);
        else {
          expected.push({ key, owner, value });
          map.set(key, value, owner);
        }
        if (expected.length <= max) continue;
        const sizeOf = (of: string): number => expected.filter((each) => each.owner === of).length;
        const largest = Math.max(...["x", "y", "z"].map(sizeOf));
        const lost = expected.filter((each) => map.get(each.key) === undefined);
        assert.equal(lost.length, 1);
        assert.equal(sizeOf(lost[0]?.owner ?? ""), largest);
        assert.equal(
          expected.find((each) => each.owner === lost[0]?.owner),
          lost[0],
        );
        expected = expected.filter((each) => each !== lost[0]);
      }
      for (const { key, value } of expected) assert.equal(map.get(key), value);
    }),
  );
});
