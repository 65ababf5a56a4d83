// The alphabet of group names, on which the function group_name_skeleton relies (docs/decisions/0002).

import assert from "node:assert/strict";
import { test } from "node:test";
import { messageNamed } from "#contract/catalog.ts";
import { matcherOf } from "../../../../test/samples.ts";

test("attack 271: group names have only ASCII letters, digits and four other characters, all stable under NFKC and case folding", () => {
  const field = messageNamed("chainguard.platform.iam.v2.Group").byName.get("name");
  assert.ok(field);
  const pattern = matcherOf(field);
  const allowed: string[] = [];
  for (let point = 0; point <= 0x10ffff; point++)
    if ((point < 0xd800 || point > 0xdfff) && pattern.test(String.fromCodePoint(point))) allowed.push(String.fromCodePoint(point));
  // group_name_skeleton may not know the confusables of another character.
  assert.equal(allowed.join(""), " -.0123456789_abcdefghijklmnopqrstuvwxyz");
  for (const character of allowed) assert.equal(character.normalize("NFKC").toLowerCase(), character);
});
