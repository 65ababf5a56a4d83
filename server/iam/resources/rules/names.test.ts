// The alphabet of group names, to which the function group_name_skeleton is cut (docs/decisions/0068).

import assert from "node:assert/strict";
import { test } from "node:test";
import { messageNamed } from "#contract/catalog.ts";
import { matcherOf } from "../../../../test/samples.ts";

test("attack 271: a group name has ASCII letters, digits and four other characters, each its own NFKC and case-folded form", () => {
  const field = messageNamed("chainguard.platform.iam.v2.Group").byName.get("name");
  assert.ok(field);
  const pattern = matcherOf(field);
  const allowed: string[] = [];
  for (let point = 0; point <= 0x10ffff; point++)
    if ((point < 0xd800 || point > 0xdfff) && pattern.test(String.fromCodePoint(point))) allowed.push(String.fromCodePoint(point));
  // Another character may have confusables that group_name_skeleton does not know.
  assert.equal(allowed.join(""), " -.0123456789_abcdefghijklmnopqrstuvwxyz");
  for (const character of allowed) assert.equal(character.normalize("NFKC").toLowerCase(), character);
});
