// Matching of entity tags against If-Match and If-None-Match.

import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesEtag } from "./etag.ts";

test("a tag matches in a list, weak or strong, and by a star; a partial tag and a missing header do not match", () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', "*", " * "])
    assert.deepEqual([header, matchesEtag(header, '"a"'), matchesEtag(header, 'W/"a"')], [header, true, true]);
  for (const header of [undefined, "", '"A"', '"a', "a", '"b", "ab"', '"*"', '"b"'])
    assert.deepEqual([header, matchesEtag(header, '"a"'), matchesEtag(header, 'W/"a"')], [header, false, false]);
});
